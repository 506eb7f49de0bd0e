// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/order.hpp"

#include <utility>

#include "lib/base/text.hpp"
#include "server/cli/ctl_arguments.hpp"
#include "server/cli/ctl_screen.hpp"

namespace leat::cli::top {
namespace {

constexpr std::int64_t kReplyNs = 5'000'000'000;
// Servers agree on the iteration of a value in some two seconds, and then ranks have to come to it.
constexpr std::int64_t kOutcomeNs = 60'000'000'000;

// "ended" is told to all, and is no event that one can ask for.
std::string event_to_ask_for(const control::Verb& verb) {
  return verb.awaited == "ended" ? "closing" : verb.awaited;
}

}  // namespace

Order::Order(const std::string& session, const std::string& verb,
             const std::vector<std::string>& words, std::int64_t now_ns)
    : verb_(*control::find_verb(verb)),
      name_(joined({verb, joined(words, " ")}, words.empty() ? "" : " ")),
      given_ns_(now_ns) {
  const std::optional<Json> arguments = arguments_of(verb_, words);
  if (arguments) {
    arguments_ = *arguments;
    send(session);
  } else {
    end("write " + verb_.words, true);
  }
}

void Order::send(const std::string& session) {
  const os::Deadline at_once = os::Deadline::in_ns(0);
  Result<ControlClient> client = ControlClient::connect(session, at_once);
  if (!client) return end("no server of " + session + " listens", true);
  client_.emplace(std::move(*client));
  text_ = name_ + ": sent";
  const bool is_sent =
      (verb_.awaited.empty() ||
       client_->send("subscribe", {{"events", {event_to_ask_for(verb_)}}}, at_once)) &&
      client_->send(verb_.name, arguments_, at_once);
  if (!is_sent) end("the server has gone; the order was not given", true);
}

void Order::end(const std::string& text, bool is_refused) {
  text_ = name_ + ": " + text;
  is_refused_ = is_refused;
  client_.reset();
}

void Order::turn(std::int64_t now_ns) {
  while (client_) {
    const Result<Json> message = client_->receive(os::Deadline::in_ns(0));
    if (message) {
      take(*message);
      continue;
    }
    const bool is_gone = message.error().status != Status::ERROR_TIMEOUT;
    if (is_gone && verb_.awaited == "ended" && !reply_.is_null())
      end("the server has ended");
    else if (is_gone)
      end("the server has gone; it is not known what has come of it", true);
    else if (reply_.is_null() && now_ns - given_ns_ > kReplyNs)
      end("the server does not answer; whether it will be done is not known", true);
    else if (now_ns - given_ns_ > kOutcomeNs)
      end("accepted; it is not known yet from when on it holds");
    return;
  }
}

void Order::take(const Json& message) {
  if (message.contains("reply")) return take_reply(message);
  if (reply_.is_null() || !is_outcome(message, verb_, arguments_, reply_)) return;
  std::string line = line_of_event(message, {});
  line.erase(line.find_last_not_of('\n') + 1);
  end(line);
}

void Order::take_reply(const Json& reply) {
  const bool is_good = reply.value("ok", false);
  if (!is_good) return end(text_in(reply, "error"), true);
  if (reply["reply"] != verb_.name) return;  // that to "subscribe"
  reply_ = reply;
  if (verb_.awaited.empty()) return end("done");
  text_ = name_ + ": accepted";
}

}  // namespace leat::cli::top

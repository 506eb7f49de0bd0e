// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/watch.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/node/runtime_folder.hpp"
#include "server/cli/ls_files.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli::top {
namespace {

constexpr std::int64_t kReconnectNs = 250'000'000;
constexpr std::int64_t kSilentNs = 2'000'000'000;
// Of all servers of a run, which ask each other; they find each other after they have begun.
constexpr std::int64_t kRunIntervalNs = 1'000'000'000;

os::Deadline at_once() { return os::Deadline::in_ns(0); }

}  // namespace

bool Watch::turn(std::int64_t now_ns) {
  const State before = state_;
  if (state_ == State::connecting && state_since_ns_ == 0) state_since_ns_ = now_ns;
  if (!client_ && now_ns - tried_ns_ >= kReconnectNs) connect(now_ns);
  bool is_new = client_ && read(now_ns);
  if (client_ && pending_ == 0 && now_ns - asked_ns_ >= interval_ns_) {
    ask(now_ns);
    is_new |= client_ && read(now_ns);
  }
  if (client_ && pending_ > 0 && now_ns - asked_ns_ >= kSilentNs) enter(State::silent, now_ns);
  return is_new || state_ != before;
}

std::int64_t Watch::next_ns() const noexcept {
  if (!client_) return tried_ns_ + kReconnectNs;
  return asked_ns_ + (pending_ > 0 ? kSilentNs : interval_ns_);
}

double Watch::seconds_in_state(std::int64_t now_ns) const noexcept {
  return static_cast<double>(now_ns - state_since_ns_) / 1e9;
}

double Watch::seconds_since_takeover(std::int64_t now_ns) const noexcept {
  return static_cast<double>(now_ns - takeover_ns_) / 1e9;
}

void Watch::enter(State state, std::int64_t now_ns) {
  if (state == state_) return;
  if (state == State::ended) outcome_ = outcome_in_ledger();
  state_ = state;
  state_since_ns_ = now_ns;
}

// Of a session that has ended the name is gone; one that waits for its next server still has it.
bool Watch::is_there() const {
  std::error_code error;
  return std::filesystem::exists(node::session_files(node::runtime_folder_name(), session_).control,
                                 error);
}

std::string Watch::outcome_in_ledger() const {
  if (!answers_.status.is_object()) return "";
  const Json ledger = ledger_of(text_in(answers_.status, "folder"),
                                text_in(answers_.status, "simulation"), session_);
  if (!ledger.is_object()) return "";
  const std::uint64_t lost = count_in(ledger, "lost");
  return text_in(ledger, "state") + ", " +
         (lost == 0 ? "nothing lost" : counted(lost, "write") + " LOST") +
         (text_in(ledger, "status") == "LEAT_OK" ? "" : ", see its ledger");
}

void Watch::connect(std::int64_t now_ns) {
  tried_ns_ = now_ns;
  Result<ControlClient> client = ControlClient::connect(session_, at_once());
  if (client) {
    client_.emplace(std::move(*client));
    pending_ = 0;
    asked_ns_ = now_ns - interval_ns_;
  } else if (client.error().status == Status::ERROR_TIMEOUT) {
    enter(State::silent, now_ns);  // too many wait for it already
  } else {
    enter(is_there() ? State::waiting : State::ended, now_ns);
  }
}

void Watch::lost(std::int64_t now_ns) {
  client_.reset();
  pending_ = 0;
  tried_ns_ = now_ns - kReconnectNs;  // another one may be there already
}

void Watch::ask(std::int64_t now_ns) {
  asked_ns_ = now_ns;
  std::vector<const char*> verbs{"status", "metrics", "parameters"};
  if (description_.is_null()) verbs.push_back("describe");
  const bool has_parameters =
      description_.is_null() || !description_.value("parameters", Json::array()).empty();
  if (!has_parameters) std::erase(verbs, std::string_view("parameters"));
  if (now_ns - run_asked_ns_ >= kRunIntervalNs) {
    verbs.push_back("run");
    run_asked_ns_ = now_ns;
  }
  for (const char* verb : verbs) {
    if (!client_->send(verb, Json::object(), at_once())) return lost(now_ns);
    ++pending_;
  }
}

bool Watch::read(std::int64_t now_ns) {
  bool is_new = false;
  for (;;) {
    const Result<Json> message = client_->receive(at_once());
    if (!message) {
      if (message.error().status != Status::ERROR_TIMEOUT) lost(now_ns);
      return is_new;
    }
    if (!message->contains("reply") || pending_ == 0) continue;
    take(*message);
    if (--pending_ > 0) continue;
    finish_turn(now_ns);
    is_new = true;
  }
}

// Another process of the same segment goes on with the run; one of another segment has another run.
void Watch::finish_turn(std::int64_t now_ns) {
  const Answers before = std::exchange(answers_, coming_);
  const auto value = [](const Answers& answers, const char* key) {
    return answers.status.is_object() ? answers.status.value(key, Json()) : Json();
  };
  if (before.status.is_object() && value(before, "pid") != value(answers_, "pid")) {
    history_.clear();
    const bool goes_on = value(before, "segment") == value(answers_, "segment");
    takeovers_ = goes_on ? takeovers_ + 1 : 0;
    takeover_ns_ = now_ns;
    if (!goes_on) description_ = coming_.run = Json();
  }
  ++turns_;
  history_.add(static_cast<double>(now_ns) / 1e9, answers_);
  enter(State::answering, now_ns);
}

void Watch::take(const Json& reply) {
  if (!reply.value("ok", false)) return;
  const Json reply_name = reply["reply"];
  const std::string verb = reply_name.is_string() ? reply_name.get<std::string>() : "";
  const Json result = reply.value("result", Json());
  if (!result.is_object()) return;
  if (verb == "status") {
    coming_.status = result;
  } else if (verb == "metrics") {
    coming_.metrics = result;
  } else if (verb == "parameters") {
    coming_.parameters = result.value("parameters", Json());
  } else if (verb == "run") {
    coming_.run = result;
  } else if (verb == "describe") {
    description_ = result;
  }
}

}  // namespace leat::cli::top

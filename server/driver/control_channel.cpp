// SPDX-License-Identifier: Apache-2.0
#include "server/driver/control_channel.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/control/protocol.hpp"
#include "lib/os/clock.hpp"

namespace leat::control {

// One request more than what is at work may wait here; what else is sent waits with who sends it.
bool Connection::wants_input() const noexcept {
  return !has_ended_ && !is_parting() && !is_lost_ && input_.size() <= kMostRequest;
}

void Connection::received(std::string_view bytes, std::int64_t now_ns) {
  if (is_parting()) return;
  input_ += bytes;
  came_ns_ = now_ns;
}

bool Connection::has_request() const noexcept {
  return input_.find('\n') != std::string::npos || input_.size() > kMostRequest ||
         (has_ended_ && !input_.empty());
}

std::optional<std::string> Connection::take_request() {
  if (is_parting() || is_lost_ || !has_request() || unsent().size() >= kEnoughUnread) return {};
  const std::size_t end = std::min(input_.find('\n'), input_.size());
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  return line;
}

void Connection::reply(const std::string& line, std::int64_t now_ns) {
  if (unsent().empty()) read_ns_ = now_ns;
  output_ += line;
}

void Connection::offer(const std::string& line, std::int64_t now_ns) {
  if (is_parting() || is_lost_) return;
  if (unsent().size() + line.size() <= kMostUnread) return reply(line, now_ns);
  drop_unsent_events();
  part_with(event_line("overrun",
                       {{"error", "this reader is too slow: " + std::to_string(kMostUnread / 1024) +
                                      " KiB of events wait for it. It gets no more: read faster, "
                                      "or subscribe to fewer events"}}),
            now_ns);
}

// But for the rest of the line that it has begun to read.
void Connection::drop_unsent_events() {
  output_.resize(last_sent_ == '\n' ? sent_ : output_.find('\n', sent_) + 1);
}

void Connection::sent(std::size_t bytes, std::int64_t now_ns) {
  if (bytes == 0) return;
  sent_ += bytes;
  last_sent_ = output_[sent_ - 1];
  read_ns_ = now_ns;
  if (sent_ == output_.size()) {
    output_ = std::string();  // with its memory
    sent_ = 0;
  }
  if (sent_ == 0 || sent_ < output_.size() / 2) return;  // each byte is moved once at most
  output_.erase(0, sent_);
  sent_ = 0;
}

void Connection::subscribe(std::vector<std::string> events) {
  events_ = std::move(events);
  is_subscribed_ = true;
}

bool Connection::wants(const std::string& event) const {
  return is_subscribed_ &&
         (events_.empty() || std::find(events_.begin(), events_.end(), event) != events_.end());
}

void Connection::part_with(const std::string& last_line, std::int64_t now_ns) {
  if (is_parting()) return;
  reply(last_line, now_ns);
  parting_ns_ = now_ns;
  input_.clear();
}

bool Connection::is_over(std::int64_t now_ns) const noexcept {
  if (is_lost_) return true;
  if (is_parting()) return unsent().empty() || now_ns - parting_ns_ >= kPartingNs;
  return has_ended_ && input_.empty() && unsent().empty() && !is_subscribed_;
}

std::string Connection::why_late(std::int64_t now_ns) const {
  if (is_parting() || is_lost_) return "";
  if (awaits_more() && now_ns - came_ns_ >= kHalfRequestNs)
    return "half a request came, and then nothing for " +
           std::to_string(kHalfRequestNs / 1'000'000'000) +
           " s: a request is one line, with its end";
  if (!unsent().empty() && now_ns - read_ns_ >= kUnreadNs)
    return "nothing was read for " + std::to_string(kUnreadNs / 1'000'000'000) + " s";
  return "";
}

std::int64_t Connection::deadline_ns() const noexcept {
  if (is_lost_) return 0;
  if (is_parting()) return parting_ns_ + kPartingNs;
  std::int64_t deadline = INT64_MAX;
  if (awaits_more()) deadline = came_ns_ + kHalfRequestNs;
  if (!unsent().empty()) deadline = std::min(deadline, read_ns_ + kUnreadNs);
  return deadline;
}

namespace {

// After so long the rest waits for the next turn.
constexpr std::int64_t kTurnNs = 500'000;

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

std::string why_no_event(const Json& name) {
  const std::vector<std::string>& known = names_of_events();
  const std::string text = name.is_string() ? name.get<std::string>().substr(0, 64) : "";
  if (std::find(known.begin(), known.end(), text) != known.end()) return "";
  return "there is no event \"" + text + "\"" + did_you_mean(text, known);
}

// A word that a run which is over, or another connection, makes necessary.
std::string last_line(const std::string& why) { return refusal_line({}, why); }

}  // namespace

Connection& Channel::open(int number, std::string who, std::int64_t now_ns) {
  connections_.erase(number);
  const bool has_room = make_room(now_ns);
  Connection& connection =
      connections_.emplace(number, Connection(std::move(who), now_ns)).first->second;
  if (!has_room) {
    connection.part_with(last_line("there are " + std::to_string(kMostConnections) +
                                   " connections already, and all have subscribed: end one"),
                         now_ns);
  }
  return connection;
}

Connection* Channel::find(int number) noexcept {
  const auto found = connections_.find(number);
  return found == connections_.end() ? nullptr : &found->second;
}

// Those that part already are on their way out, and make room for others that do.
bool Channel::make_room(std::int64_t now_ns) {
  Connection *silent = nullptr, *parting = nullptr;
  std::size_t staying = 0;
  for (auto& [number, each] : connections_) {
    if (each.is_parting()) parting = &each;
    staying += !each.is_parting();
    if (each.is_subscribed() || each.is_parting()) continue;
    if (!silent || each.came_ns() < silent->came_ns()) silent = &each;
  }
  if (parting && connections_.size() >= 2 * kMostConnections) parting->lost();
  if (staying < kMostConnections) return true;
  if (!silent) return false;
  silent->part_with(last_line("there are " + std::to_string(kMostConnections) +
                              " connections, and this one has been silent for the longest: "
                              "connect again"),
                    now_ns);
  return true;
}

bool Channel::work(std::int64_t now_ns) {
  bool any = false;
  for (auto& [number, each] : connections_) {
    const std::string why = each.why_late(now_ns);
    if (!why.empty()) each.part_with(last_line(why), now_ns);
    any |= !why.empty();
  }
  return any | answer_some(now_ns);
}

// From where the last turn had no time left.
bool Channel::answer_some(std::int64_t now_ns) {
  bool any = false;
  const std::int64_t begun_ns = os::now_ns();
  auto next = connections_.lower_bound(next_number_);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (next == connections_.end()) next = connections_.begin();
    const std::optional<std::string> line = next->second.take_request();
    if (line && !is_blank(*line)) answer(next->second, *line, now_ns);
    any |= line.has_value();
    ++next;
    if (os::now_ns() - begun_ns > kTurnNs) break;
  }
  next_number_ = next == connections_.end() ? 0 : next->first;
  return any;
}

std::int64_t Channel::next_deadline_ns() const noexcept {
  std::int64_t deadline = INT64_MAX;
  for (const auto& [number, each] : connections_) deadline = std::min(deadline, each.deadline_ns());
  return deadline;
}

void Channel::answer(Connection& connection, const std::string& line, std::int64_t now_ns) {
  if (line.size() > kMostRequest) {
    return connection.part_with(last_line("a request has at most " + std::to_string(kMostRequest) +
                                          " bytes, and this one has more; write " +
                                          "{\"leat_control\": 1, \"request\": \"status\"}"),
                                now_ns);
  }
  Request request = parse_request(line);
  request.who = connection.who();
  std::string reply = reply_to(connection, request);
  if (const std::string why = why_too_much(reply); !why.empty()) reply = refusal_line(request, why);
  connection.reply(reply, now_ns);
}

// Whatever is wrong with one request, the run goes on.
std::string Channel::reply_to(Connection& connection, const Request& request) {
  if (!request.error.empty()) return refusal_line(request, request.error);
  try {
    const bool is_stream = find_verb(request.verb)->kind == Verb::Kind::stream;
    const Answer answer = is_stream ? subscribe(connection, request) : run_.answer(request);
    return answer ? reply_line(request, *answer) : refusal_line(request, answer.error().message);
  } catch (const std::exception& e) {
    return refusal_line(request, std::string("the server cannot answer this: ") + e.what());
  }
}

std::string Channel::why_too_much(const std::string& reply) const {
  if (reply.size() > kMostReply)
    return "the reply has " + std::to_string(reply.size()) + " bytes, more than the " +
           std::to_string(kMostReply) + " that a reply may have";
  std::size_t unread = reply.size();
  for (const auto& [number, each] : connections_) unread += each.unsent().size();
  if (unread <= kMostUnreadOfAll) return "";
  return "others have yet to read too much of what they have asked for; ask again";
}

Answer Channel::subscribe(Connection& connection, const Request& request) {
  const Json events = request.arguments.value("events", Json::array());
  std::vector<std::string> names;
  for (const Json& each : events) {
    if (std::string why = why_no_event(each); !why.empty()) return refusal(std::move(why));
    names.push_back(each.get<std::string>());
  }
  connection.subscribe(std::move(names));
  return Json{{"events", events.empty() ? Json(names_of_events()) : events}}.dump();
}

bool Channel::has_subscribers() const noexcept {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& each) { return each.second.is_subscribed(); });
}

void Channel::publish(const std::string& event, const Json& facts, std::int64_t now_ns) {
  std::string line;
  for (auto& [number, each] : connections_) {
    if (!each.wants(event)) continue;
    if (line.empty()) line = event_line(event, facts);
    each.offer(line, now_ns);
  }
}

void Channel::end(const Json& facts, std::int64_t now_ns) {
  const std::string line = event_line("ended", facts);
  for (auto& [number, each] : connections_) {
    if (each.is_subscribed()) {
      each.part_with(line, now_ns);
    } else {
      each.part_with("", now_ns);
    }
  }
}

}  // namespace leat::control

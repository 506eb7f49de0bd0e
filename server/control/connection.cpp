// SPDX-License-Identifier: Apache-2.0
#include "server/control/connection.hpp"

#include <algorithm>
#include <utility>

#include "server/control/protocol.hpp"

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

}  // namespace leat::control

// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/events.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "client-api/connect/last_error.hpp"
#include "lib/base/status.hpp"
#include "lib/os/clock.hpp"

namespace leat::client {
namespace {

using shm::Event;
using shm::EventKind;

EventKind kind_of(const Event& event) { return static_cast<EventKind>(event.kind); }

bool sets_a_number(const Event& event) {
  return kind_of(event) == EventKind::set_integer || kind_of(event) == EventKind::set_real;
}

// All others are bounded by the memory that is leased, by the parameters of the XML, or are merged.
bool may_be_counted_only(const Event& event) {
  return kind_of(event) == EventKind::lost || kind_of(event) == EventKind::drop;
}

// Both say the same of the same thing, so that one event can speak for both.
bool alike(const Event& a, const Event& b) {
  if (a.kind != b.kind || a.subject != b.subject) return false;
  return kind_of(a) != EventKind::lost || a.token == b.token;
}

}  // namespace

void UnsentEvents::store(const Event& event) noexcept {
  if (!merge(event) && !append(event)) count(event);
  empty_ = false;
}

void UnsentEvents::pop_first() noexcept {
  if (others_.block > 0) {
    others_ = {};
  } else if (++first_ == events_.size()) {
    events_.clear();  // keeps its memory
    first_ = 0;
  }
  empty_ = events_.empty() && others_.block == 0;
}

// With room left, only what is of the same iteration becomes one.
bool UnsentEvents::merge(const Event& event) noexcept {
  const bool is_crowded = events_.size() - first_ >= kMost;
  const EventKind kind = kind_of(event);
  if (kind == EventKind::lost) {
    Event* const same = last_like(event, false);
    if (!same) return false;
    same->block += std::max(1u, event.block);
    same->bytes += event.bytes;
    return true;
  }
  if (!is_crowded || (kind != EventKind::end_iteration && !sets_a_number(event))) return false;
  Event* const same = last_like(event, true);
  if (same) *same = event;
  return same != nullptr;
}

Event* UnsentEvents::last_like(const Event& event, bool of_any_iteration) noexcept {
  for (std::size_t i = events_.size(); i > first_; --i) {
    Event& each = events_[i - 1];
    if (!of_any_iteration && each.iteration != event.iteration) return nullptr;
    if (alike(each, event)) return &each;
  }
  return nullptr;
}

bool UnsentEvents::append(const Event& event) noexcept {
  if (events_.size() - first_ >= kMost && may_be_counted_only(event)) return false;
  try {
    if (first_ > kMost) {
      events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    events_.push_back(event);
  } catch (const std::bad_alloc&) {
    return false;
  }
  Event& kept = events_.back();
  if (kind_of(kept) == EventKind::lost) kept.block = std::max(1u, kept.block);
  return true;
}

void UnsentEvents::count(const Event& event) noexcept {
  if (others_.block == 0) {
    others_.kind = static_cast<std::uint32_t>(EventKind::lost);
    others_.subject = shm::kUntoldVariable;
    others_.iteration = event.iteration;
    others_.token = static_cast<std::uint32_t>(Status::ERROR_FULL);
  }
  const bool is_write = kind_of(event) == EventKind::lost;
  others_.block += is_write ? std::max(1u, event.block) : 1;
  others_.bytes += is_write ? event.bytes : 0;
}

namespace {

// Of the ring: so much fills up before the server is woken for events that have time.
constexpr std::uint32_t kQuiet = 4;

// Nobody waits for what follows from it before its iteration has ended.
bool has_time(EventKind kind) noexcept {
  return kind == EventKind::set_integer || kind == EventKind::set_real ||
         kind == EventKind::set_text || kind == EventKind::seal || kind == EventKind::signal ||
         kind == EventKind::span;
}

// Somebody may wait for what follows from it now.
bool is_urgent(EventKind kind) noexcept {
  return !has_time(kind) && kind != EventKind::end_iteration;
}

}  // namespace

EventSender::EventSender(const shm::Segment& segment, const shm::ClientArea& area,
                         std::unique_ptr<shm::ToServer> link)
    : segment_(segment),
      server_(segment.server_state()),
      link_(std::move(link)),
      events_(area.events, segment.header().event_slots, area.client->event_tail,
              area.server->event_head),
      most_unannounced_(segment.header().event_slots / kQuiet),
      wake_at_(events_.next() + most_unannounced_) {}

bool EventSender::report(const shm::Report& report) noexcept {
  if (!link_->report(report)) return false;
  try {
    reports_.emplace_back(report, os::now_ns());
  } catch (const std::bad_alloc&) {
    // The server has it; a next one will not.
  }
  return true;
}

bool EventSender::introduce(std::string offers) noexcept {
  offers_ = std::move(offers);
  return link_->introduce(offers_);
}

void EventSender::connect(std::unique_ptr<shm::ToServer> link,
                          std::int64_t said_until_ns) noexcept {
  link_ = std::move(link);
  rung_for_sleep_ = 0;
  if (!offers_.empty()) (void)link_->introduce(offers_);
  for (auto& [report, sent_ns] : reports_) {
    if (sent_ns < said_until_ns) report.number |= shm::kWasSaid;
    (void)link_->report(report);
  }
}

void EventSender::print_reports(std::int64_t said_until_ns) const noexcept {
  for (const auto& [report, sent_ns] : reports_)
    if (sent_ns >= said_until_ns) tell(report.text);
}

void EventSender::put(const Event& event) noexcept {
  const auto kind = static_cast<EventKind>(event.kind);
  if (kind == EventKind::set_text || kind == EventKind::forgo)
    mark_handed_over(*segment_.at<shm::BlockHeader>(event.offset), shm::kNoIteration);
  if (kind == EventKind::products)
    mark_handed_over(*segment_.at<shm::BlockHeader>(event.offset), event.iteration);
  events_.slot() = event;
  events_.push_slot();
  const bool is_time = has_many();
  if (is_time || !has_time(kind)) wake_server(is_time || is_urgent(kind));
}

// Away from the way of those whom nobody asks.
[[gnu::cold]] void EventSender::end_at_now(Event& event, std::int64_t begun_ns) noexcept {
  event.at_ns = os::now_ns();
  event.inside_ns = static_cast<std::uint64_t>(event.at_ns - begun_ns);
}

bool EventSender::send_unsent() noexcept {
  while (!unsent_.empty() && !events_.full()) {
    put(unsent_.first());
    unsent_.pop_first();
  }
  return !events_.full();
}

void EventSender::wake_server(bool at_once) noexcept {
  wake_at_ = events_.next() + most_unannounced_;
  events_.announce();
  if (!at_once && server_.naps.load(std::memory_order_seq_cst) != 0) return;
  const std::uint32_t sleep = server_.sleeps.load(std::memory_order_seq_cst);
  if (sleep % 2 == 0 || sleep == rung_for_sleep_) return;
  rung_for_sleep_ = sleep;  // one ring ends it, even if the server takes a moment to get up
  link_->ring();
}

}  // namespace leat::client

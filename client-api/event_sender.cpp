// SPDX-License-Identifier: Apache-2.0
#include "client-api/event_sender.hpp"

#include <new>
#include <utility>

#include "client-api/last_error.hpp"
#include "lib/os/clock.hpp"

namespace leat::client {
namespace {

using shm::Event;
using shm::EventKind;

// Of the ring: so much fills up before the server is woken for events that have time.
constexpr std::uint32_t kQuiet = 4;

// Nobody waits for what follows from it before its iteration has ended.
bool has_time(EventKind kind) noexcept {
  return kind == EventKind::set_integer || kind == EventKind::set_real ||
         kind == EventKind::set_text || kind == EventKind::seal || kind == EventKind::signal;
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
    reports_.emplace_back(report, platform::now_ns());
  } catch (const std::bad_alloc&) {
    // The server has it; a next one will not.
  }
  return true;
}

void EventSender::connect(std::unique_ptr<shm::ToServer> link,
                          std::int64_t said_until_ns) noexcept {
  link_ = std::move(link);
  rung_for_sleep_ = 0;
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
  events_.slot() = event;
  events_.push_slot();
  const bool is_time = has_many();
  if (is_time || !has_time(kind)) wake_server(is_time || is_urgent(kind));
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

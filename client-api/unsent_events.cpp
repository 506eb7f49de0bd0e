// SPDX-License-Identifier: Apache-2.0
#include "client-api/unsent_events.hpp"

#include <algorithm>
#include <new>

#include "lib/base/status.hpp"

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

void UnsentEvents::keep(const Event& event) noexcept {
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

}  // namespace leat::client

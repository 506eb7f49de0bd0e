// SPDX-License-Identifier: Apache-2.0
// What happens in a simulated network, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "lib/comm/rank_set.hpp"

namespace leat::comm::test {

struct SimulatedEvent {
  Rank rank = 0;          ///< to whom it happens; -1: to the network
  std::int64_t life = 0;  ///< its how many-th start
  std::function<void()> what{};
};

// In the order of their moments; of one moment, in the order in which they were added. What is put in order is small: events stay
// where they are until they happen.
class SimulatedEvents {
 public:
  void add(std::int64_t ns, SimulatedEvent event) {
    if (free_.empty()) {
      free_.push_back(events_.size());
      events_.emplace_back();
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    events_[place] = std::move(event);
    due_.push_back({ns, next_++, place});
    std::push_heap(due_.begin(), due_.end());
  }
  bool empty() const { return due_.empty(); }
  std::int64_t first_ns() const { return due_.front().ns; }
  SimulatedEvent take_first() {
    const std::size_t place = due_.front().place;
    std::pop_heap(due_.begin(), due_.end());
    due_.pop_back();
    free_.push_back(place);
    return std::exchange(events_[place], {});
  }

 private:
  struct Due {
    std::int64_t ns = 0;
    std::uint64_t number = 0;
    std::size_t place = 0;
    bool operator<(const Due& other) const {
      return ns != other.ns ? ns > other.ns : number > other.number;
    }
  };

  std::vector<Due> due_;  // a heap
  std::vector<SimulatedEvent> events_;
  std::vector<std::size_t> free_;
  std::uint64_t next_ = 0;
};

}  // namespace leat::comm::test

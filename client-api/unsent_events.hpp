// SPDX-License-Identifier: Apache-2.0
// What the server must be told and found no room in the event ring: kept in order, and sent before
// anything else. Without it a server that was stopped for a while would take what comes next for
// part of an iteration that this client has ended, and would never learn what was refused
// meanwhile.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/shm/layout.hpp"

namespace leat::client {

class UnsentEvents {
 public:
  /// A server that is stopped for hours must not fill the memory of the simulation. Beyond this the
  /// ends of several iterations become one, of a parameter the last value is kept, and of writes
  /// that failed how many.
  static constexpr std::size_t kMost = 4096;

  /// Never fails: what is not kept is counted as a write that was lost.
  void keep(const shm::Event& event) noexcept;
  bool empty() const noexcept { return empty_; }
  /// To be sent next; not when empty.
  const shm::Event& first() const noexcept { return others_.block > 0 ? others_ : events_[first_]; }
  void pop_first() noexcept;

 private:
  bool merge(const shm::Event& event) noexcept;
  bool append(const shm::Event& event) noexcept;
  shm::Event* last_like(const shm::Event& event, bool of_any_iteration) noexcept;
  void count(const shm::Event& event) noexcept;

  bool empty_ = true;  // one word to look at before each event
  std::vector<shm::Event> events_;
  std::size_t first_ = 0;
  shm::Event others_{};  // writes that failed, of which nothing else is known any more
};

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// When a plugin with runs="coordinated" may start on an iteration: as the ranks come out of a collective
// of all of them, which is the same one on all nodes without a word between them, since it is counted
// from the ranks' own end of that iteration.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/shm/segment.hpp"

namespace leat::server {

class CollectiveStart {
 public:
  /// Starts at each `every`-th collective; without one when none has come for so long.
  CollectiveStart(const shm::Segment& segment, std::uint32_t every, std::int64_t defer_max_ns)
      : segment_(segment), every_(every), defer_max_ns_(defer_max_ns) {}

  struct Start {
    const char* how = "";       ///< "first", "later", "deferred", "at once", as StartUse has them
    std::int64_t begun_ns = 0;  ///< when it was, monotonic
    std::int64_t waited_ns = 0;
    std::int64_t lag_ns = 0;  ///< after the ranks came out of the collective
  };
  /// Returns when work on the iteration may begin.
  Start await(std::int64_t iteration) const noexcept;

 private:
  /// A collective on one rank of the node.
  struct Goal {
    const shm::ClientLane* lane;
    std::uint32_t number;
    bool is_first;
  };
  std::optional<Goal> goal_of(std::int64_t iteration) const noexcept;
  bool is_anybody_held_up() const noexcept;

  const shm::Segment& segment_;
  std::uint32_t every_;
  std::int64_t defer_max_ns_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// When a plugin with runs="coordinated" may start on an iteration: as the ranks come out of a collective
// of all of them, which is the same one on all nodes without a word between them, since it is counted
// from the ranks' own end of that iteration.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"

namespace leat::server {

class CollectiveStart {
 public:
  /// At each `collectives`-th collective; without one when none has come for `defer-max`, both the store's.
  CollectiveStart(const shm::Segment& segment, const model::Store& store)
      : segment_(segment),
        every_(static_cast<std::uint32_t>(store.collectives)),
        defer_max_ns_(static_cast<std::int64_t>(store.defer_max_seconds * 1e9)) {}

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

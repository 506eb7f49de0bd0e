// SPDX-License-Identifier: Apache-2.0
// Collectives of all ranks of the run, counted: where they are, nodes are at the same moment. Called by
// one thread, with the session's lock held.
#pragma once

#include <cstdint>

#include "lib/shm/segment.hpp"

namespace leat::client {

class Collectives {
 public:
  /// `client`: on this node; `ranks`: of the run.
  Collectives(const shm::Segment& segment, std::uint32_t client, std::int64_t ranks) noexcept
      : server_(segment.server_state()), lane_(*segment.client(client).client), ranks_(ranks) {}

  /// This rank comes out of one of so many ranks; 0: of all. Others do not count.
  void passed(std::int64_t ranks) noexcept;
  /// This rank ends the iteration.
  void iteration_ends(std::int64_t iteration) noexcept;

 private:
  shm::ServerState& server_;
  shm::ClientLane& lane_;
  std::int64_t ranks_;
};

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// When this rank has nothing to do, and where nodes are at the same moment: told to plugins that work then. Called by
// one thread, with the session's lock held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/shm/segment.hpp"

namespace leat::client {

/// Collectives of all ranks of the run, counted: where they are, nodes are at the same moment.
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

/// Phases in which this rank has nothing to do: told to plugins that work in them, where they are
/// long enough to be worth it.
class IdlePhases {
 public:
  /// `client`: on this node.
  IdlePhases(const shm::Segment& segment, std::uint32_t client) noexcept
      : server_(segment.server_state()), lane_(*segment.client(client).client) {}

  /// One within another is part of that. `site`: where in the code; what a phase is like is known from
  /// those of the same site before.
  void begin(std::string_view site) noexcept;
  void end() noexcept;

 private:
  /// What is known of the phases of one place.
  struct Site {
    std::uint64_t name = 0;  // its hash; 0: nobody's
    std::uint64_t phases = 0;
    std::int64_t ns = 0;

    bool is_worth_it() const noexcept;
  };
  static constexpr std::size_t kSites = 512;  // beyond, all others are one

  Site& site_of(std::string_view name) noexcept;

  shm::ServerState& server_;
  shm::ClientLane& lane_;
  std::array<Site, kSites> sites_{};
  Site* current_ = nullptr;
  int depth_ = 0;
  std::int64_t begun_ns_ = 0;
  bool is_told_ = false;
};

}  // namespace leat::client

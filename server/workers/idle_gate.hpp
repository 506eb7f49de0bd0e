// SPDX-License-Identifier: Apache-2.0
// Lets a plugin work in the idle phases of the ranks of its node, and nowhere else: as ranks say them
// in the segment, which is only read here. A rank that waits for Leat, or that does not live, leaves its
// cores too.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "lib/shm/segment.hpp"
#include "server/pipeline/work_team.hpp"

namespace leat::server {

/// From any thread.
class IdleGate {
 public:
  /// `cores`: of the node, of which each rank has its share.
  IdleGate(const shm::Segment& segment, int cores) noexcept;

  /// Waits until some rank idles.
  void await() noexcept;

  /// A piece of work: waits for an idle core, and has it until it is done.
  class Place {
   public:
    explicit Place(IdleGate& gate) noexcept : gate_(gate), begun_ns_(gate.enter()) {}
    Place(const Place&) = delete;
    ~Place() { gate_.leave(begun_ns_); }

   private:
    IdleGate& gate_;
    std::int64_t begun_ns_;
  };

  struct Work {
    std::int64_t ns = 0;  ///< of all pieces
    std::uint64_t pieces = 0;
    std::uint64_t outlasted = 0;  ///< that were at work when their phase ended
    std::int64_t longest_outlasted_ns = 0;
  };
  /// What was done since the last call.
  Work take_work() noexcept;

 private:
  std::int64_t enter() noexcept;
  void leave(std::int64_t begun_ns) noexcept;
  bool is_idle(std::uint32_t client) const noexcept;
  int idle_cores() const noexcept;
  void sleep() noexcept;

  const shm::Segment& segment_;
  std::uint32_t ranks_;
  int cores_;
  std::mutex mutex_;
  int at_work_ = 0;
  Work work_;
  std::atomic<std::uint32_t> next_{0};  // the rank that the next sleeper looks at
};

/// Does pieces when the gate lets them.
class GatedTeam final : public PieceRunner {
 public:
  GatedTeam(WorkTeam& team, IdleGate& gate) : team_(team), gate_(gate) {}
  std::string run(std::uint64_t pieces, const Piece& piece, const IsLate& is_late) override;

 private:
  WorkTeam& team_;
  IdleGate& gate_;
};

}  // namespace leat::server

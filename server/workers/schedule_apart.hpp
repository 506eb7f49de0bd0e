// SPDX-License-Identifier: Apache-2.0
// How a plugin in a process of its own comes by time on the simulation's cores, on leatd's side.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"
#include "server/pipeline/work_team.hpp"
#include "server/state/iterations/times.hpp"
#include "server/workers/frames.hpp"

namespace leat::server {

// How a plugin in a process of its own comes by time on the simulation's cores, on leatd's side.
class ScheduleApart : public ScheduleUser {
 public:
  /// What its process says of a call.
  virtual void take(const Frame& answer) = 0;
  /// For the log, at the end.
  virtual std::string report() const = 0;
  /// How many plugins have work, for ranks, who wake them.
  virtual std::atomic<std::uint32_t>& wanted() const noexcept = 0;
};

/// While one lives, ranks wake the plugin's process.
class Wanted {
 public:
  explicit Wanted(const ScheduleApart& schedule) : number_(schedule.wanted()) {
    number_.fetch_add(1, std::memory_order_seq_cst);
  }
  Wanted(const Wanted&) = delete;
  ~Wanted() { number_.fetch_sub(1, std::memory_order_seq_cst); }

 private:
  std::atomic<std::uint32_t>& number_;
};

/// Null where it needs none: what is idle takes what nobody else wants.
std::unique_ptr<ScheduleApart> schedule_apart(model::Schedule schedule,
                                              const shm::Segment& segment);

// What a plugin has made of the idle phases of the ranks of its node, on leatd's side.
class Harvest final : public ScheduleApart {
 public:
  explicit Harvest(const shm::Segment& segment) : segment_(segment) {}

  void take(const Frame& answer) override;
  std::string report() const override;
  ScheduleUse use() const noexcept override { return idle_use(); }
  std::atomic<std::uint32_t>& wanted() const noexcept override {
    return segment_.server_state().harvesters;
  }

 private:
  IdleUse idle_use() const noexcept;

  const shm::Segment& segment_;
  std::atomic<std::int64_t> work_ns_{0}, longest_outlasted_ns_{0};
  std::atomic<std::int64_t> pieces_{0}, outlasted_{0};
};

// Where a plugin with runs="coordinated" has started, on leatd's side.
class Coordination final : public ScheduleApart {
 public:
  explicit Coordination(const shm::Segment& segment) : segment_(segment) {}

  void take(const Frame& answer) override;
  std::string report() const override;
  ScheduleUse use() const noexcept override { return start_use(); }
  std::atomic<std::uint32_t>& wanted() const noexcept override {
    return segment_.server_state().coordinated;
  }

 private:
  StartUse start_use() const noexcept;
  bool is_counted() const noexcept;  // by any rank

  const shm::Segment& segment_;
  mutable std::mutex mutex_;
  StartUse use_;
};

// When a plugin may work on the simulation's cores: in idle phases of the ranks, or as they leave a collective.

// What a process that looks at the segment sees of a rank.

/// It lives, and has not ended.
inline bool is_attached(const shm::ClientArea& rank) noexcept {
  const shm::ClientRecord& record = rank.server->records[rank.server->record.load() & 1];
  return record.phase == static_cast<std::uint32_t>(shm::ClientPhase::attached);
}

/// Sleeps in a call of Leat's.
inline bool waits_for_leat(const shm::ClientArea& rank) noexcept {
  return rank.client->waiting.load(std::memory_order_relaxed) == 1;
}

// Lets a plugin work in the idle phases of the ranks of its node, and nowhere else: as ranks say them
// in the segment, which is only read here. A rank that waits for Leat, or that does not live, leaves its
// cores too.

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
    /// `given_up`: nobody waits for the work any more; it has no place then.
    explicit Place(IdleGate& gate, const os::GivenUp& given_up = {})
        : gate_(gate), begun_ns_(gate.enter(given_up)) {}
    Place(const Place&) = delete;
    ~Place() {
      if (begun_ns_ > 0) gate_.leave(begun_ns_);
    }

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
  std::int64_t enter(const os::GivenUp& given_up);
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

/// For modules of graphs: a turn is one piece of work.
struct HarvestOfModules {
  explicit HarvestOfModules(const shm::Segment& segment, int cores)
      : schedule(segment), gate(segment, cores) {}
  Harvest schedule;
  IdleGate gate;

  /// Of all turns so far.
  std::string report();
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

// When a plugin with runs="coordinated" may start on an iteration: as the ranks come out of a collective
// of all of them, which is the same one on all nodes without a word between them, since it is counted
// from the ranks' own end of that iteration.
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

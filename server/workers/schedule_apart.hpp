// SPDX-License-Identifier: Apache-2.0
// How a plugin in a process of its own comes by time on the simulation's cores, on leatd's side.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"
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

}  // namespace leat::server

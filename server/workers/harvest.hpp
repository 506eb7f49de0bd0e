// SPDX-License-Identifier: Apache-2.0
// What a plugin has made of the idle phases of the ranks of its node, on leatd's side.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "server/workers/schedule_apart.hpp"

namespace leat::server {

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

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Where a plugin with runs="coordinated" has started, on leatd's side.
#pragma once

#include <mutex>
#include <string>

#include "server/workers/schedule_apart.hpp"

namespace leat::server {

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

// SPDX-License-Identifier: Apache-2.0
// How long the rest of a run is waited for: as long as the server makes progress.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/os/clock.hpp"

namespace leat::client {

/// Begins anew whenever the server has made progress.
class ProgressBudget {
 public:
  ProgressBudget(const std::atomic<std::uint64_t>& progress, platform::WaitBudget whole) noexcept
      : progress_(progress),
        whole_(whole),
        left_(whole),
        seen_(progress.load(std::memory_order_relaxed)) {}

  platform::WaitBudget& left() noexcept {
    const std::uint64_t now = progress_.load(std::memory_order_relaxed);
    if (now != seen_) left_ = whole_;
    seen_ = now;
    return left_;
  }

 private:
  const std::atomic<std::uint64_t>& progress_;
  const platform::WaitBudget whole_;
  platform::WaitBudget left_;
  std::uint64_t seen_;
};

}  // namespace leat::client

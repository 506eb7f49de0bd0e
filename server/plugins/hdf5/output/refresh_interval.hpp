// SPDX-License-Identifier: Apache-2.0
// How often views are remade during a run.
#pragma once

#include <algorithm>
#include <chrono>

namespace leat::hdf5 {

/// What is remade during a run, because others may be looking at it, is at most so old.
inline constexpr std::chrono::seconds kShortestInterval{1};

/// Or so many times as old as it takes to make it: of a server's time not more than 2 % goes into
/// it, however many parts or iterations there are.
inline std::chrono::steady_clock::duration refresh_interval(
    std::chrono::steady_clock::duration taken) {
  constexpr int kShareOfTime = 50;
  return std::max<std::chrono::steady_clock::duration>(kShortestInterval, kShareOfTime * taken);
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// What bursts of analytics cost a simulation: the same ranks, computing and meeting in all-reduces,
// with bursts and without.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/predict/bursts.hpp"
#include "lib/predict/compute_times.hpp"
#include "lib/predict/machine.hpp"

namespace leat::predict {

/// More ranks than any machine has: 2^24, in less than a gigabyte.
inline constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;

/// Ranks in iterations of computing and an all-reduce.
struct Job {
  std::int64_t ranks = 1, ranks_per_node = 1;
  MessageCosts costs;
  const ComputeTimes* compute = nullptr;  ///< outlives what is done with the job
};

std::int64_t nodes_of(std::int64_t ranks, std::int64_t ranks_per_node);

/// When a run of it ends: after so many collectives, or after the first one that ends so late.
struct Length {
  std::int64_t collectives = 0;  ///< 0: no limit
  std::int64_t ns = 0;           ///< 0: no limit
};

struct Run {
  std::int64_t collectives = 0;
  std::int64_t ns = 0;             ///< until the last rank is done
  double mean_arrival_spread = 0;  ///< ns from the first to the last rank that arrives, on average
};

/// `bursts` may be null. Fails when the run would last longer than 64 bits of nanoseconds can say.
Result<Run> run_of(const Job& job, const BurstSource* bursts, const Length& length);

/// One all-reduce of ranks that arrive together, and are not interrupted.
std::int64_t undisturbed_all_reduce_ns(const MessageCosts& costs, std::int64_t ranks);

/// More time with bursts than without, over that without: 0.1 is 10 %.
double slowdown(const Run& with, const Run& without);

}  // namespace leat::predict

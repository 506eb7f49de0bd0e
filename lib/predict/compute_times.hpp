// SPDX-License-Identifier: Apache-2.0
// How long each rank computes before each collective: drawn from a distribution, or as recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/predict/trace.hpp"

namespace leat::predict {

class ComputeTimes {
 public:
  virtual ~ComputeTimes() = default;
  /// CPU time in ns.
  virtual std::int64_t of(std::int64_t rank, std::int64_t collective) const = 0;
};

/// Log-normal; `spread` is the standard deviation of the logarithm, 0 for ranks that are all alike.
Result<std::unique_ptr<ComputeTimes>> drawn_compute(std::int64_t median_ns, double spread,
                                                    std::uint64_t seed);

/// From traces of collectives, one of a rank: a rank computes from the end of one to the start of
/// the next. Rank r has trace r where there are as many traces as ranks, otherwise one drawn at
/// random; collective n is collective n of it, so that what happens on all ranks at once still
/// does. Repeated from the first when it ends. `traces` outlive this.
Result<std::unique_ptr<ComputeTimes>> recorded_compute(const std::vector<Trace>& traces,
                                                       std::int64_t ranks, std::uint64_t seed);

}  // namespace leat::predict

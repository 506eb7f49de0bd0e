// SPDX-License-Identifier: Apache-2.0
// When analytics take the cores of each node, and for how long: drawn from distributions, or as it
// was recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/predict/draws.hpp"
#include "lib/predict/trace.hpp"

namespace leat::predict {

/// Bursts of each node, counted from an index of its own on; there is no last one.
class BurstSource {
 public:
  virtual ~BurstSource() = default;
  /// The first one that may still go on at time 0.
  virtual std::int64_t first(std::int64_t node) const = 0;
  /// As it is due. Analytics of a node do one thing at a time: a burst begins when the one before
  /// it has ended, and takes as long as ever.
  virtual Event at(std::int64_t node, std::int64_t index) const = 0;
};

/// How the nodes' bursts lie to each other: at random when there is no sigma, otherwise at common
/// times, each moved by a normal deviate of standard deviation sigma, in ns.
using Sigma = std::optional<std::int64_t>;

struct BurstShape {
  std::int64_t median_ns = 0;  ///< of durations, which are log-normal
  double spread = 0;           ///< standard deviation of the logarithm of durations
  std::int64_t every_ns = 0;   ///< between starts
};

/// Synchronised, burst k is due at (k + 1/2) every_ns; otherwise each node begins at a random moment.
Result<std::unique_ptr<BurstSource>> drawn_bursts(const BurstShape& shape, Sigma sigma,
                                                  std::uint64_t seed);

/// Node n has trace n where there are as many traces as nodes, otherwise one drawn at random. Each
/// is repeated when it ends. Synchronised, all keep the times of their recording; otherwise each
/// node begins at a random moment of its trace. `traces` outlive the source.
Result<std::unique_ptr<BurstSource>> recorded_bursts(const std::vector<Trace>& traces,
                                                     std::int64_t nodes, Sigma sigma,
                                                     std::uint64_t seed);

}  // namespace leat::predict

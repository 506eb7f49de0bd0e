// SPDX-License-Identifier: Apache-2.0
// What bursts do to ranks. While a burst goes on, the ranks of its node do no CPU work; what they do
// not do then (they wait for a message) it does not delay.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/predict/bursts.hpp"

namespace leat::predict {

/// Where each rank is in the bursts of its node. 24 bytes a rank.
class Interruptions {
 public:
  /// No source: nothing interrupts. `source` outlives this.
  Interruptions(const BurstSource* source, std::int64_t ranks, std::int64_t ranks_per_node);

  /// When CPU work of so many ns that `rank` can begin at `from` is done. For each rank `from` never
  /// decreases from call to call.
  std::int64_t done(std::int64_t rank, std::int64_t from, std::int64_t work) {
    const std::int64_t end = from + work;
    return end <= begin_[static_cast<std::size_t>(rank)] ? end : interrupted(rank, from, work);
  }

  /// Of each rank: until then nothing interrupts it.
  const std::int64_t* free_until() const { return begin_.data(); }

 private:
  std::int64_t interrupted(std::int64_t rank, std::int64_t from, std::int64_t work);
  void take_next(std::size_t rank);

  const BurstSource* source_;
  std::int64_t ranks_per_node_;
  std::vector<std::int64_t> begin_, end_, next_;  ///< the burst that is next or goes on
};

}  // namespace leat::predict

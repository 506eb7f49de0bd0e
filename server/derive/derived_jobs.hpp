// SPDX-License-Identifier: Apache-2.0
// Which blocks of a variable are made in an iteration, and where they lie.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/derive/block_inputs.hpp"
#include "server/derive/derived_memory.hpp"
#include "server/derive/making.hpp"
#include "server/derive/sum_step.hpp"

namespace leat::server {

struct DerivedJob {
  Block block;                     // what is made
  std::vector<ArrayInput> inputs;  // none: it has no values in this iteration
  std::vector<std::shared_ptr<const std::vector<double>>> computed;  // that some of those are
  Sum* sum = nullptr;      ///< of what is over time; null: there is none yet,
  Sum* old_sum = nullptr;  ///< and what its rank had is at another place
  std::optional<SumStep> step;
  std::optional<SumWithoutStep> without;
  bool tells = true;  // a block comes of it

  /// Of the first dimensions of the block.
  std::vector<std::int64_t> extents(std::size_t dims) const {
    return {block.extent.begin(), block.extent.begin() + static_cast<std::ptrdiff_t>(dims)};
  }
  /// The period that is over.
  std::optional<PeriodTold> told() const {
    return step ? step->told() : without ? without->told() : std::nullopt;
  }
  /// It has no values in this iteration, and none come of it.
  void drop() {
    inputs.clear();
    tells = false;
  }
};

/// One for each block of what the variable is made of; none where some of that is not there at all.
std::vector<DerivedJob> jobs_of(std::uint32_t variable, Making* making);

/// For the blocks of those that tell something; where there is no room, they do not.
std::shared_ptr<DerivedMemory::Piece> make_room(std::uint32_t variable, DerivedMemory* memory,
                                                std::vector<DerivedJob>* jobs, Making* making);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The values of blocks that are made: computed by the expression of their variable, and put where they are to lie.
#pragma once

#include <cstdint>
#include <map>

#include "lib/model/model.hpp"
#include "server/derive/derived_jobs.hpp"
#include "server/derive/evaluation.hpp"
#include "server/derive/making.hpp"

namespace leat::server {

/// Of one variable in an iteration: what somebody may not think.
struct ValuesMade {
  std::int64_t not_finite = 0, too_large = 0, inexact = 0;
  bool periods_lost = false;
};

class DerivedValues {
 public:
  explicit DerivedValues(const model::Model& model);

  /// All values of a block of a variable, in parts, and counts those that are not finite.
  void compute(std::uint32_t variable, const std::vector<ArrayInput>& inputs,
               const std::vector<std::int64_t>& extents, ValuesMade* made,
               const Evaluation::Take& take);
  /// To where the block of the job lies, if it tells something, and into its sum.
  void make(std::uint32_t variable, DerivedJob* job, ValuesMade* made);
  /// Doubles of a variable to what it is stored as: `count` of them, from element `first` on of what is at `to`.
  void put(std::uint32_t variable, const double* values, std::int64_t first, std::int64_t count,
           char* to, ValuesMade* made) const;

 private:
  void make_without_values(std::uint32_t variable, const DerivedJob& job, char* to,
                           ValuesMade* made) const;

  const model::Model& model_;
  std::map<std::uint32_t, Evaluation> evaluations_;  // by derived variable
};

/// Findings of what was made of a variable.
void find_in_values(std::uint32_t variable, const ValuesMade& made, Making* making);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// operation="mean" and the others, some hundred elements at a time: what a value adds to a sum, and what the sum comes to.
#pragma once

#include <cstdint>

#include "lib/model/model.hpp"
#include "server/derive/sums.hpp"

namespace leat::server {

/// Lists of doubles that a sum has: the sum itself; of a variance the mean, and the squares around it.
std::uint32_t arrays_of(model::Operation operation) noexcept;

/// One list or two, from some element on.
struct SumPart {
  double* values = nullptr;
  double* squares = nullptr;
};

/// Of `before`, which has the weight `weight_before`, 0 for nothing, makes `now`, to which `count` values of weight `weight` have come.
void add_values(model::Operation operation, const SumPart& before, double weight_before,
                const double* values, double weight, std::int64_t count, const SumPart& now);
/// What a sum of that weight comes to.
void result_of(model::Operation operation, const SumPart& sum, double weight, std::int64_t count,
               double* to);

}  // namespace leat::server

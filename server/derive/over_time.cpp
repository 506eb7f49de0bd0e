// SPDX-License-Identifier: Apache-2.0
#include "server/derive/over_time.hpp"

#include <algorithm>
#include <cmath>

namespace leat::server {
namespace {

using model::Operation;

void add_weighted(const double* before, const double* values, double weight, std::int64_t count,
                  double* now) {
  if (weight == 1) {
    for (std::int64_t i = 0; i < count; ++i) now[i] = before[i] + values[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) now[i] = before[i] + weight * values[i];
  }
}

// Source: D. H. D. West, "Updating mean and variance estimates: an improved method", CACM 22 (1979).
void add_to_variance(const SumPart& before, double weight_before, const double* values,
                     double weight, std::int64_t count, const SumPart& now) {
  const double share = weight / (weight_before + weight);
  for (std::int64_t i = 0; i < count; ++i) {
    const double mean = before.values[i], away = values[i] - mean;
    now.values[i] = mean + away * share;
    now.squares[i] = before.squares[i] + weight * away * (values[i] - now.values[i]);
  }
}

void begin_with(Operation operation, const double* values, double weight, std::int64_t count,
                const SumPart& now) {
  const bool is_weighted =
      (operation == Operation::mean || operation == Operation::accumulate) && weight != 1;
  for (std::int64_t i = 0; i < count; ++i)
    now.values[i] = is_weighted ? weight * values[i] : values[i];
  if (now.squares) {
    for (std::int64_t i = 0; i < count; ++i) now.squares[i] = 0 * values[i];  // NaN stays one
  }
}

}  // namespace

std::uint32_t arrays_of(Operation operation) noexcept {
  return operation == Operation::variance ? 2 : 1;
}

void add_values(Operation operation, const SumPart& before, double weight_before,
                const double* values, double weight, std::int64_t count, const SumPart& now) {
  if (weight_before <= 0) return begin_with(operation, values, weight, count, now);
  switch (operation) {
    case Operation::minimum:
      for (std::int64_t i = 0; i < count; ++i)
        now.values[i] =
            std::isnan(values[i]) || values[i] < before.values[i] ? values[i] : before.values[i];
      return;
    case Operation::maximum:
      for (std::int64_t i = 0; i < count; ++i)
        now.values[i] =
            std::isnan(values[i]) || values[i] > before.values[i] ? values[i] : before.values[i];
      return;
    case Operation::latest:
      return begin_with(operation, values, weight, count, now);
    case Operation::variance:
      return add_to_variance(before, weight_before, values, weight, count, now);
    default:
      return add_weighted(before.values, values, weight, count, now.values);
  }
}

void result_of(Operation operation, const SumPart& sum, double weight, std::int64_t count,
               double* to) {
  switch (operation) {
    case Operation::mean:
      for (std::int64_t i = 0; i < count; ++i) to[i] = sum.values[i] / weight;
      return;
    case Operation::variance:
      for (std::int64_t i = 0; i < count; ++i) to[i] = sum.squares[i] / weight;
      return;
    default:
      std::copy(sum.values, sum.values + count, to);
  }
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Computes an expression over arrays, some hundred elements at a time, so that what is in between stays in the cache.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/scalar.hpp"
#include "lib/model/array_expression.hpp"

namespace leat::server {

/// An array, as an expression over an array of some extents takes it.
struct ArrayInput {
  const void* data = nullptr;
  ScalarType type = ScalarType::float64;
  /// Elements from one to the next along each dimension of the result; 0 along those that it does not have.
  std::array<std::int64_t, kMaxDims> steps{};
  bool is_like_result = false;  ///< it has the extents of the result, and lies as that
};

/// Elements in C order.
std::int64_t elements_of(const std::int64_t* extent, std::size_t dims) noexcept;

/// For one thread at a time.
class Evaluation {
 public:
  static constexpr std::int64_t kAtOnce = 512;  ///< elements

  explicit Evaluation(const model::ArrayExpression& expression);

  /// Calls `take` with the first element, doubles and how many there are, in order; with all of them. An array of double that the
  /// expression only names is not copied.
  using Take = std::function<void(std::int64_t first, const double* values, std::int64_t count)>;
  /// Within a call of `take`: how many of these are infinite or no number, though all that they were made of is finite.
  std::int64_t count_not_finite(const double* values, std::int64_t count) const noexcept;
  void run(const std::vector<ArrayInput>& inputs, const std::vector<std::int64_t>& extents,
           const Take& take);

  /// Of the last run(): how many integers of inputs are beyond those that doubles have all of.
  std::int64_t inexact() const noexcept { return inexact_; }

 private:
  bool was_finite(std::int64_t i) const noexcept;
  const double* values_of(std::uint32_t node) const { return values_[node]; }
  void load(const ArrayInput& input, std::int64_t first, std::int64_t count, double* to);
  void compute(const model::ArrayNode& node, std::int64_t count, double* to) const;

  const model::ArrayExpression& expression_;
  std::vector<std::int64_t> extents_;
  std::int64_t inexact_ = 0;
  std::vector<double> room_;           // kAtOnce for each node
  std::vector<const double*> values_;  // by node
};

/// Those of an array that a result of these extents has, in their own type.
void copy_elements(const ArrayInput& input, const std::vector<std::int64_t>& extents, void* to);
/// Elements of an array, as doubles.
void to_doubles(const void* data, ScalarType type, std::int64_t first, std::int64_t count,
                double* to);
/// The other way round. Returns how many have no place in the type: of integers, those that are none or too large, which become the least
/// number with a sign, or the greatest without one, as files have where nothing is.
std::int64_t from_doubles(const double* values, std::int64_t count, ScalarType type, void* to,
                          std::int64_t first);

}  // namespace leat::server

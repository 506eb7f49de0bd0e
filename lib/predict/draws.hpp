// SPDX-License-Identifier: Apache-2.0
// Random numbers that are functions of what they are for, so that ranks and bursts need no state and
// can be looked at in any order. They are the same on every machine: nothing here depends on the
// standard library's distributions or on a libm.
#pragma once

#include <cstdint>

namespace leat::predict {

/// What a number is drawn for: numbers of different purposes have nothing to do with each other.
enum class Purpose : std::uint64_t {
  phase,
  start,
  duration,
  trace_of_node,
  trace_of_rank,
  compute
};

/// The random numbers of one seed. A `place` is who or what draws: a node, a rank; `index` counts
/// what it draws them for.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}

  /// From 0 to below 1, in steps of 2^-53.
  double uniform(Purpose purpose, std::int64_t place, std::int64_t index = 0) const;
  /// From 0 to below `end`.
  std::int64_t below(std::int64_t end, Purpose purpose, std::int64_t place,
                     std::int64_t index = 0) const;
  /// Of mean 0 and standard deviation 1.
  double normal(Purpose purpose, std::int64_t place, std::int64_t index = 0) const;
  /// Times of the given median, log-normal: `spread` is the standard deviation of their natural
  /// logarithm. In whole ns, and none above kLongestNs.
  std::int64_t log_normal_ns(std::int64_t median, double spread, Purpose purpose,
                             std::int64_t place, std::int64_t index = 0) const;

 private:
  std::uint64_t seed_;
};

/// The nearest whole number, as the same everywhere.
std::int64_t rounded(double number);

/// e^x and ln x (x > 0) by additions, multiplications and divisions, which IEEE 754 defines to the
/// last bit.
double exp_of(double x);
double log_of(double x);

}  // namespace leat::predict

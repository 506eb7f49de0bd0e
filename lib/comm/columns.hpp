// SPDX-License-Identifier: Apache-2.0
// What servers contribute to a round, and how two contributions become one: in any order, with the
// same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "lib/comm/exact_sum.hpp"
#include "lib/comm/rank_set.hpp"

namespace leat::comm {

enum class Op : std::uint8_t { min, max, sum, bit_or };

/// Numbers, element by element. Sums of integers are modulo 2^64; the least and the largest of
/// doubles is NaN where one is.
struct Integers {
  Op op = Op::sum;
  std::vector<std::int64_t> values{};
  bool operator==(const Integers&) const = default;
};
struct Reals {
  Op op = Op::min;  ///< min or max
  std::vector<double> values{};
  bool operator==(const Reals&) const = default;
};
struct Sums {
  std::vector<ExactSum> values{};
  bool operator==(const Sums&) const = default;
};
/// Whatever each says, by its rank.
struct Gathered {
  std::map<Rank, std::string> parts{};
  bool operator==(const Gathered&) const = default;
};
using Column = std::variant<Integers, Reals, Sums, Gathered>;
using Columns = std::vector<Column>;

/// They are of the same number, types, operations and lengths.
bool fit(const Columns& a, const Columns& b);
/// `more` must fit `into`, and be of other ranks.
void combine(Columns* into, const Columns& more);

/// About so much memory they take, and so long are they in a message.
std::size_t bytes_in(const Columns& columns);

}  // namespace leat::comm

// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/plugin_columns.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace leat::server {
namespace {

constexpr std::size_t kBefore =
    2;  // columns of our own: how many servers gave, and the first of them
constexpr std::uint64_t kSumTerms = 2;

comm::Op op_of(const leat_column& column) {
  if (column.op == LEAT_REDUCE_SUM) return comm::Op::sum;
  if (column.op == LEAT_REDUCE_MIN) return comm::Op::min;
  if (column.op == LEAT_REDUCE_MAX) return comm::Op::max;
  throw std::invalid_argument(std::to_string(column.op) +
                              " is no operation; enum leat_reduce_op has them");
}

// By the number of the server, when that is known.
comm::Gathered gathered_of(const leat_column& column, std::uint64_t* numbers) {
  constexpr std::uint64_t kMostBytes = kMostColumnNumbers * sizeof(double);
  if (column.type != LEAT_UINT8 || column.terms > 1)
    throw std::invalid_argument("a column that is gathered is of LEAT_UINT8, in one term");
  if (column.count > kMostBytes ||
      (*numbers += (column.count + sizeof(double) - 1) / sizeof(double)) > kMostColumnNumbers)
    throw std::invalid_argument("there are more than " + std::to_string(kMostBytes) +
                                " bytes in one call");
  return {{{0, std::string(static_cast<const char*>(column.values), column.count)}}};
}

comm::Column column_of(const leat_column& column, std::uint64_t* numbers) {
  if (column.op == LEAT_REDUCE_GATHER) return gathered_of(column, numbers);
  const comm::Op op = op_of(column);
  const bool is_integer = column.type == LEAT_INT64;
  const bool is_exact = op == comm::Op::sum && !is_integer;
  if (!is_integer && column.type != LEAT_FLOAT64)
    throw std::invalid_argument("a column is of LEAT_INT64 or LEAT_FLOAT64, not of type " +
                                std::to_string(column.type));
  if (column.terms == 0 || (column.terms != 1 && !is_exact))
    throw std::invalid_argument("a column has " + std::to_string(column.terms) +
                                " terms: 1, or more where it is a sum of doubles");
  if (column.count > kMostColumnNumbers || column.terms > kMostColumnNumbers ||
      (*numbers += column.count * column.terms) > kMostColumnNumbers)
    throw std::invalid_argument("there are more than " + std::to_string(kMostColumnNumbers) +
                                " numbers in one call");
  const std::uint64_t all = column.count * column.terms;
  if (is_integer) {
    const auto* const first = static_cast<const std::int64_t*>(column.values);
    return comm::Integers{op, {first, first + all}};
  }
  const auto* const first = static_cast<const double*>(column.values);
  if (!is_exact) return comm::Reals{op, {first, first + all}};
  comm::Sums sums{std::vector<comm::ExactSum>(column.count)};
  for (std::uint64_t i = 0; i < all; ++i) sums.values[i / column.terms].add(first[i]);
  return sums;
}

leat_column seen_as(std::uint32_t type, std::uint32_t op, const void* values, std::uint64_t count) {
  leat_column column{};
  column.size = sizeof column;
  column.type = type;
  column.op = op;
  column.count = count;
  column.terms = 1;
  column.values = values;
  return column;
}

std::uint32_t seen_op(comm::Op op) {
  switch (op) {
    case comm::Op::min:
      return LEAT_REDUCE_MIN;
    case comm::Op::max:
      return LEAT_REDUCE_MAX;
    case comm::Op::sum:
    case comm::Op::bit_or:
      break;
  }
  return LEAT_REDUCE_SUM;
}

// The nearest double, and the nearest to what is left.
void append_rounded(comm::ExactSum sum, std::vector<double>* values) {
  for (std::uint64_t i = 0; i < kSumTerms; ++i) {
    values->push_back(sum.value());
    if (!std::isfinite(values->back()))
      sum = {};
    else
      sum.add(-values->back());
  }
}

}  // namespace

comm::Columns columns_of(const leat_column* columns, std::uint64_t count, std::uint64_t stride) {
  comm::Columns all;
  std::uint64_t numbers = 0;
  leat_reduction places{};
  places.columns = columns;
  places.column_stride = stride;
  for (std::uint64_t i = 0; i < count; ++i)
    all.push_back(column_of(*leat_column_at(&places, i), &numbers));
  return all;
}

comm::Columns of_server(const comm::Columns& columns, comm::Rank self) {
  comm::Columns all{comm::Integers{comm::Op::sum, {1}}, comm::Integers{comm::Op::min, {self}}};
  all.insert(all.end(), columns.begin(), columns.end());
  for (comm::Column& column : all) {
    auto* const gathered = std::get_if<comm::Gathered>(&column);
    if (!gathered) continue;
    auto own = gathered->parts.extract(gathered->parts.begin());
    own.key() = self;
    gathered->parts.insert(std::move(own));
  }
  return all;
}

std::optional<ReductionView> ReductionView::of(const comm::Columns& given,
                                               const comm::Outcome& outcome, comm::Rank self,
                                               comm::Rank servers) {
  if (outcome.columns.empty() || !comm::fit(outcome.columns, of_server(given, self)))
    return std::nullopt;
  ReductionView view;
  const std::int64_t gave = std::get<comm::Integers>(outcome.columns[0]).values[0];
  view.self_ = self;
  view.servers_ = servers;
  view.missing_ = servers - static_cast<std::int32_t>(gave);
  view.is_first_ = std::get<comm::Integers>(outcome.columns[1]).values[0] == self;
  for (std::size_t i = kBefore; i < outcome.columns.size(); ++i)
    std::visit([&view](const auto& column) { view.add(column); }, outcome.columns[i]);
  return view;
}

// What is pointed to stays where it is when the vectors grow, or are moved.
void ReductionView::add(const comm::Integers& column) {
  const auto& own = integers_.emplace_back(column.values);
  columns_.push_back(seen_as(LEAT_INT64, seen_op(column.op), own.data(), own.size()));
}

void ReductionView::add(const comm::Reals& column) {
  const auto& own = reals_.emplace_back(column.values);
  columns_.push_back(seen_as(LEAT_FLOAT64, seen_op(column.op), own.data(), own.size()));
}

void ReductionView::add(const comm::Sums& column) {
  std::vector<double>& own = reals_.emplace_back();
  for (const comm::ExactSum& each : column.values) append_rounded(each, &own);
  columns_.push_back(seen_as(LEAT_FLOAT64, LEAT_REDUCE_SUM, own.data(), own.size() / kSumTerms));
  columns_.back().terms = kSumTerms;
}

void ReductionView::add(const comm::Gathered& column) {
  std::vector<std::uint64_t>& sizes =
      sizes_.emplace_back(static_cast<std::size_t>(servers_), LEAT_GAVE_NOTHING);
  std::vector<char>& own = bytes_.emplace_back();
  for (const auto& [rank, part] : column.parts) {
    if (rank < 0 || rank >= servers_) continue;
    sizes[static_cast<std::size_t>(rank)] = part.size();
    own.insert(own.end(), part.begin(), part.end());
  }
  columns_.push_back(seen_as(LEAT_UINT8, LEAT_REDUCE_GATHER, own.data(), own.size()));
  columns_.back().sizes = sizes.data();
}

leat_reduction ReductionView::seen() const {
  leat_reduction seen{};
  seen.size = sizeof seen;
  seen.columns = columns_.data();
  seen.column_count = columns_.size();
  seen.column_stride = sizeof(leat_column);
  seen.servers = servers_;
  seen.servers_missing = missing_;
  seen.is_first = is_first_ ? 1 : 0;
  seen.server = self_;
  return seen;
}

}  // namespace leat::server

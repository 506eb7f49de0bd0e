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

comm::Column column_of(const leat_column& column, std::uint64_t* numbers) {
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

leat_column seen_as(std::uint32_t type, std::uint32_t op) {
  leat_column column{};
  column.size = sizeof column;
  column.type = type;
  column.op = op;
  column.terms = 1;
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
  return all;
}

std::optional<ReductionView> ReductionView::of(const comm::Columns& given,
                                               const comm::Outcome& outcome, comm::Rank self,
                                               comm::Rank servers) {
  if (outcome.columns.empty() || !comm::fit(outcome.columns, of_server(given, self)))
    return std::nullopt;
  ReductionView view;
  const std::int64_t gave = std::get<comm::Integers>(outcome.columns[0]).values[0];
  view.servers_ = servers;
  view.missing_ = servers - static_cast<std::int32_t>(gave);
  view.is_first_ = std::get<comm::Integers>(outcome.columns[1]).values[0] == self;
  for (std::size_t i = kBefore; i < outcome.columns.size(); ++i) {
    const comm::Column& column = outcome.columns[i];
    std::vector<double> reals;
    if (const auto* const integers = std::get_if<comm::Integers>(&column)) {
      view.columns_.push_back(seen_as(LEAT_INT64, seen_op(integers->op)));
      view.integers_.push_back(integers->values);
    } else if (const auto* const extremes = std::get_if<comm::Reals>(&column)) {
      view.columns_.push_back(seen_as(LEAT_FLOAT64, seen_op(extremes->op)));
      reals = extremes->values;
    } else {
      view.columns_.push_back(seen_as(LEAT_FLOAT64, LEAT_REDUCE_SUM));
      view.columns_.back().terms = kSumTerms;
      for (const comm::ExactSum& each : std::get<comm::Sums>(column).values)
        append_rounded(each, &reals);
    }
    leat_column& seen = view.columns_.back();
    if (seen.type == LEAT_FLOAT64) view.reals_.push_back(std::move(reals));
    seen.values = seen.type == LEAT_INT64 ? static_cast<const void*>(view.integers_.back().data())
                                          : view.reals_.back().data();
    seen.count =
        (seen.type == LEAT_INT64 ? view.integers_.back().size() : view.reals_.back().size()) /
        seen.terms;
  }
  return view;
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
  return seen;
}

}  // namespace leat::server

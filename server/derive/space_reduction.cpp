// SPDX-License-Identifier: Apache-2.0
#include "server/derive/space_reduction.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

namespace leat::server {
namespace {

constexpr std::int64_t kLanes =
    8;  // of one sum, so that the processor need not wait for each addition

// high + low becomes that and `value`, but for what is beyond both. Source: Knuth's TwoSum, and that of Dekker.
inline void add_to(double* high, double* low, double value) {
  const double sum = *high + value;
  const double part = sum - *high;
  *low += (*high - (sum - part)) + (value - part);
  *high = sum;
}

void sum_up(const double* values, std::int64_t count, double* high, double* low) {
  double highs[kLanes] = {}, lows[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      add_to(&highs[lane], &lows[lane], values[i + lane]);
  }
  for (; i < count; ++i) add_to(&highs[0], &lows[0], values[i]);
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    add_to(high, low, highs[lane]);
    *low += lows[lane];
  }
}

// NaN where one is.
double lesser(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double greater(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

bool SpaceReducer::adds() const {
  const model::SpaceOperation operation = derived_.reduction->operation;
  return operation == model::SpaceOperation::mean || operation == model::SpaceOperation::sum;
}

double SpaceReducer::neutral() const {
  if (adds()) return 0;
  const double infinity = std::numeric_limits<double>::infinity();
  return derived_.reduction->operation == model::SpaceOperation::minimum ? infinity : -infinity;
}

std::vector<std::int64_t> SpaceReducer::extents() const {
  std::vector<std::int64_t> left;
  for (std::size_t d = 0; d < derived_.is_reduced.size(); ++d) {
    if (derived_.is_reduced[d] == 0) left.push_back(global_[d]);
  }
  return left;
}

std::string SpaceReducer::prepare(const Block& block) {
  const std::size_t dims = derived_.is_reduced.size();
  if (is_known_ && extents().size() > 0 && block.global != global_)
    return "not made: ranks have the global array in different extents";
  global_ = block.global;
  extent_ = block.extent;
  position_ = block.position;
  std::int64_t cells = 1;
  for (std::size_t d = dims; d-- > 0;) {
    steps_[d] = derived_.is_reduced[d] != 0 ? 0 : cells;
    if (derived_.is_reduced[d] == 0 && __builtin_mul_overflow(cells, global_[d], &cells))
      cells = kMostCells + 1;
  }
  if (cells > kMostCells)
    return fmt::format(
        "not made: {} values are left, and {} are the most: reduce along more dimensions", cells,
        kMostCells);
  const auto size = static_cast<std::size_t>(cells);
  if (!std::exchange(is_known_, true)) {
    sums_.resize(adds() ? size : 0);
    extremes_.assign(adds() ? 0 : size, neutral());
    counts_.assign(size, 0);
  }
  of_block_.high.assign(size, neutral());
  of_block_.low.assign(size, 0);
  of_block_.counts.assign(size, 0);
  return "";
}

std::string SpaceReducer::add(const Block& block, const BlockValues& values) {
  if (std::string why = prepare(block); !why.empty()) return why;
  values([this](std::int64_t first, const double* part, std::int64_t count) {
    take(first, part, count);
  });
  close_block();
  return "";
}

// In runs along the last dimension: they go to one cell, or to one after the other.
void SpaceReducer::take(std::int64_t first, const double* values, std::int64_t count) {
  const std::size_t dims = derived_.is_reduced.size();
  if (dims == 0) return take_run(0, 0, values, count);
  for (std::int64_t at = 0; at < count;) {
    std::int64_t rest = first + at, cell = 0;
    const std::int64_t in_last = rest % extent_[dims - 1];
    const std::int64_t run = std::min(count - at, extent_[dims - 1] - in_last);
    for (std::size_t d = dims; d-- > 0;) {
      cell += (position_[d] + rest % extent_[d]) * steps_[d];
      rest /= extent_[d];
    }
    take_run(cell, steps_[dims - 1], values + at, run);
    at += run;
  }
}

void SpaceReducer::take_run(std::int64_t cell, std::int64_t step, const double* values,
                            std::int64_t count) {
  double* const high = of_block_.high.data() + cell;
  double* const low = of_block_.low.data() + cell;
  std::int64_t* const counts = of_block_.counts.data() + cell;
  if (step == 0 && adds()) {
    sum_up(values, count, high, low);
    *counts += count;
    return;
  }
  const bool is_least = derived_.reduction->operation == model::SpaceOperation::minimum;
  for (std::int64_t i = 0; i < count; ++i) {
    ++counts[i * step];
    if (adds())
      add_to(&high[i * step], &low[i * step], values[i]);
    else
      high[i * step] =
          is_least ? lesser(values[i], high[i * step]) : greater(values[i], high[i * step]);
  }
}

// A sum that is infinite or no number has no rest.
void SpaceReducer::close_block() {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (of_block_.counts[i] == 0) continue;
    counts_[i] += of_block_.counts[i];
    const double high = of_block_.high[i];
    if (adds()) {
      sums_[i].add(high);
      if (std::isfinite(high)) sums_[i].add(of_block_.low[i]);
    } else if (derived_.reduction->operation == model::SpaceOperation::minimum) {
      extremes_[i] = lesser(high, extremes_[i]);
    } else {
      extremes_[i] = greater(high, extremes_[i]);
    }
  }
}

comm::Columns SpaceReducer::columns(comm::Rank self) const {
  if (!is_known()) return {};
  const std::size_t size = is_known_ ? counts_.size() : 1;
  comm::Columns all;
  all.emplace_back(comm::Integers{comm::Op::sum, {1}});
  const bool has_any = std::any_of(counts_.begin(), counts_.end(), [](auto n) { return n > 0; });
  all.emplace_back(comm::Integers{comm::Op::min, {has_any ? self : INT64_MAX}});
  all.emplace_back(comm::Integers{comm::Op::max, extents()});
  all.emplace_back(
      comm::Integers{comm::Op::sum, is_known_ ? counts_ : std::vector<std::int64_t>(size, 0)});
  if (adds()) {
    all.emplace_back(comm::Sums{is_known_ ? sums_ : std::vector<comm::ExactSum>(size)});
  } else {
    const bool is_least = derived_.reduction->operation == model::SpaceOperation::minimum;
    all.emplace_back(comm::Reals{is_least ? comm::Op::min : comm::Op::max,
                                 is_known_ ? extremes_ : std::vector<double>(size, neutral())});
  }
  return all;
}

SpaceReducer::Result SpaceReducer::result(const comm::Columns& columns) const {
  Result result;
  result.gave = std::get<comm::Integers>(columns[0]).values[0];
  result.server = std::get<comm::Integers>(columns[1]).values[0];
  result.extents = std::get<comm::Integers>(columns[2]).values;
  result.counts = std::get<comm::Integers>(columns[3]).values;
  const bool is_mean = derived_.reduction->operation == model::SpaceOperation::mean;
  for (std::size_t i = 0; i < result.counts.size(); ++i) {
    double value = adds() ? std::get<comm::Sums>(columns[4]).values[i].value()
                          : std::get<comm::Reals>(columns[4]).values[i];
    const auto count = static_cast<double>(result.counts[i]);
    if (is_mean) value /= count;
    if (result.counts[i] == 0) value = std::numeric_limits<double>::quiet_NaN();
    result.values.push_back(value);
  }
  return result;
}

}  // namespace leat::server

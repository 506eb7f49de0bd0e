// SPDX-License-Identifier: Apache-2.0
// Boxes of cells, and what of a whole they leave free.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "lib/base/scalar.hpp"

namespace leat::server {

/// From `low` to before `high`; in dimensions that an array does not have, from 0 to before 0.
struct Box {
  std::array<std::int64_t, kMaxDims> low{}, high{};
  auto operator<=>(const Box&) const = default;
};

bool is_empty(const Box& box, unsigned dims) noexcept;
/// What both have; empty when that is nothing.
Box common(const Box& a, const Box& b, unsigned dims) noexcept;
/// A double: an array may have more cells than 64 bits count.
double cells_of(const Box& box, unsigned dims) noexcept;

struct FreeCells {
  std::vector<Box> boxes;  ///< apart from each other; the first kMostFreeBoxes
  double cells = 0;        ///< of all of them
  bool known = true;       ///< false: too many boxes lie too irregularly to find out
};
inline constexpr std::size_t kMostFreeBoxes = 256;

/// The cells of `whole` that lie in none of `boxes`, which may overlap each other and its edges.
/// Boxes that tile a grid cost their number times its logarithm; whatever they are, it ends soon.
FreeCells free_cells(const Box& whole, std::vector<Box> boxes, unsigned dims);

/// Numbers of the boxes that lie wholly in those behind them, ascending. Where only borders are
/// shared it costs what sorting does.
std::vector<std::size_t> covered_boxes(const std::vector<Box>& boxes, unsigned dims);

}  // namespace leat::server

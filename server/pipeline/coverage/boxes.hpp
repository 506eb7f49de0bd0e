// SPDX-License-Identifier: Apache-2.0
// Boxes of cells, what of a whole they leave free, and boxes for people.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/scalar.hpp"
#include "lib/model/model.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

// Boxes of cells, and what of a whole they leave free.

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

// Boxes of a variable's global array, for people.

/// What of the global array is the block's own: its ghosts are not.
Box own_box(const model::Layout& layout, const Block& block) noexcept;
/// The whole global array.
Box whole_box(const model::Layout& layout, const Block& block) noexcept;

/// "(y=0:4, x=8:16)", as numpy counts; with order="fortran" "(x=9:16, y=1:4)", as Fortran does.
std::string text_of(const model::Layout& layout, const Box& box);
/// The first some of them.
std::string text_of(const model::Layout& layout, const std::vector<Box>& boxes);
/// "ranks 0-3: (y=0:4, x=8:16)": who wrote which.
std::string text_of_writers(const model::Layout& layout, const std::vector<Block>& blocks);

}  // namespace leat::server

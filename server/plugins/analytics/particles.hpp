// SPDX-License-Identifier: Apache-2.0
// Positions of particles of all ranks of the node in one iteration, and which of them are near each
// other: a cell list. Source: Allen, Tildesley: Computer Simulation of Liquids, section 5.3.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/include/plugin.hpp"

namespace leat::analytics {

using Point = std::array<double, 3>;

/// A rectangular box, periodic along the axes along which it has a length.
struct Box {
  Point lengths{};  ///< 0: not periodic along this axis
  /// To the nearest image.
  double shortest(double distance, int axis) const {
    const double length = lengths[static_cast<std::size_t>(axis)];
    return length > 0 ? distance - length * std::round(distance / length) : distance;
  }
  double square(const Point& a, const Point& b) const {
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      const double along = shortest(a[i] - b[i], axis);
      sum += along * along;
    }
    return sum;
  }
};

/// Those of one block: `count` from number `first` on, of all of a server.
struct Part {
  std::int64_t rank = 0, block = 0, first = 0, count = 0;
};

/// The particles of an iteration, in the order of ranks and blocks.
struct Cloud {
  const leat_variable* variable = nullptr;  ///< that has their positions; null: there are none
  std::size_t axes = 0;
  std::vector<Point> points{};
  std::vector<Part> parts{};
  /// Of that variable, as products are called after it.
  std::string name() const;
};

/// Particles as options say where they are: positions="x", the variable that has them, needed where the store takes several that
/// could; box="10,10,10", one length for each axis. What is wrong with these is thrown as std::exception.
class Particles {
 public:
  explicit Particles(const leat_run& run);
  Cloud read(const leat_iteration_data& data) const;
  const Box& box() const { return box_; }

 private:
  bool has_positions(const leat_block& block) const;

  const leat_run& run_;
  std::string wanted_;
  std::vector<double> lengths_;
  Box box_;
};

class CellList {
 public:
  /// For pairs at most `reach` apart. `points` outlive it, and are all finite. Which pairs it finds follows from the distances alone.
  CellList(const std::vector<Point>& points, const Box& box, double reach);

  /// Calls use(i, j, square of the distance) for each pair with i < j whose i is in [first, last)
  /// and whose distance is at most the reach.
  template <class Use>
  void for_each_pair(std::size_t first, std::size_t last, Use use) const {
    for (std::size_t i = first; i < last; ++i) {
      for (const std::uint32_t cell : around(points_[i])) {
        for (std::uint32_t at = begins_[cell]; at < begins_[cell + 1]; ++at) {
          const std::size_t j = order_[at];
          if (j <= i) continue;
          const double square = box_.square(points_[i], points_[j]);
          if (square <= reach_ * reach_) use(i, j, square);
        }
      }
    }
  }

  /// Calls use(j, square of the distance) for each of its points that is at most the reach from this other one.
  template <class Use>
  void for_each_near(const Point& point, Use use) const {
    if (points_.empty() || is_beyond(point)) return;
    for (const std::uint32_t cell : around(point)) {
      for (std::uint32_t at = begins_[cell]; at < begins_[cell + 1]; ++at) {
        const double square = box_.square(points_[order_[at]], point);
        if (square <= reach_ * reach_) use(order_[at], square);
      }
    }
  }

 private:
  struct Around {  // cells, each once
    std::array<std::uint32_t, 27> cells;
    std::size_t count = 0;
    const std::uint32_t* begin() const { return cells.data(); }
    const std::uint32_t* end() const { return cells.data() + count; }
  };
  std::int64_t along(const Point& point, std::size_t axis) const;
  bool is_beyond(const Point& point) const;
  Around around(const Point& point) const;
  std::uint32_t number_of(const std::array<std::int64_t, 3>& cell) const;

  const std::vector<Point>& points_;
  Box box_;
  double reach_;
  Point low_{}, high_{};
  Point width_{};  // of a cell
  std::array<std::int64_t, 3> cells_{1, 1, 1};
  std::vector<std::uint32_t> begins_, order_;
};

}  // namespace leat::analytics

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/analytics/particles.hpp"

#include <algorithm>
#include <stdexcept>

#include "server/plugins/analytics/options.hpp"
#include "server/plugins/analytics/values.hpp"

namespace leat::analytics {
namespace {

constexpr double kMostCells = 1 << 22;
// Cells are so much wider than the reach that rounding does not part two that are just so far apart: for whatever points are in
// the list beside them, the pair is found.
constexpr double kWider = 1 + 1e-6;

template <class T>
void append_as(const leat_block& block, std::size_t axes, std::vector<Point>* points) {
  const auto* values = static_cast<const T*>(block.data);
  for (std::int64_t i = 0; i < block.extent[0]; ++i) {
    Point point{};
    for (std::size_t axis = 0; axis < axes; ++axis) point[axis] = static_cast<double>(*values++);
    points->push_back(point);
  }
}

bool is_finite(const Point& point) {
  return std::all_of(point.begin(), point.end(), [](double along) { return std::isfinite(along); });
}

void append(const leat_block& block, Cloud* cloud) {
  const leat_variable& variable = *cloud->variable;
  const bool is_real = variable.type == LEAT_FLOAT32 || variable.type == LEAT_FLOAT64;
  if (!is_real || variable.dims != 2 || block.extent[1] < 2 || block.extent[1] > 3)
    throw std::runtime_error(std::string("variable ") + variable.name +
                             " has no positions: those are float or double, (particles, axes) with "
                             "2 or 3 axes");
  cloud->axes = static_cast<std::size_t>(block.extent[1]);
  const auto first = static_cast<std::int64_t>(cloud->points.size());
  cloud->parts.push_back({block.rank, block.block, first, block.extent[0]});
  if (variable.type == LEAT_FLOAT32)
    append_as<float>(block, cloud->axes, &cloud->points);
  else
    append_as<double>(block, cloud->axes, &cloud->points);
}

}  // namespace

Particles::Particles(const leat_run& run)
    : run_(run),
      wanted_(option(run.options, run.option_count, "positions")),
      lengths_(list_option(run, "box")) {
  const bool positive =
      std::all_of(lengths_.begin(), lengths_.end(), [](double length) { return length > 0; });
  if (!positive || lengths_.size() == 1 || lengths_.size() > 3)
    throw std::invalid_argument(
        "option box=\"" + option(run.options, run.option_count, "box") +
        "\": two or three lengths greater than 0 are wanted, one for each axis");
  std::copy(lengths_.begin(), lengths_.end(), box_.lengths.begin());
}

bool Particles::has_positions(const leat_block& block) const {
  const leat_variable& variable = *leat_variable_at(&run_, block.variable);
  if (!wanted_.empty()) return wanted_ == variable.name;
  const bool is_real = variable.type == LEAT_FLOAT32 || variable.type == LEAT_FLOAT64;
  return is_real && variable.dims == 2;
}

Cloud Particles::read(const leat_iteration_data& data) const {
  Cloud cloud;
  for (const leat_block& block : Blocks(data)) {
    if (!has_positions(block)) continue;
    const leat_variable* variable = leat_variable_at(&run_, block.variable);
    if (cloud.variable && cloud.variable != variable)
      throw std::runtime_error(std::string("variables ") + cloud.variable->name + " and " +
                               variable->name +
                               " could both be positions: say which by option "
                               "positions");
    cloud.variable = variable;
    append(block, &cloud);
  }
  if (!lengths_.empty() && cloud.variable && lengths_.size() != cloud.axes)
    throw std::runtime_error("option box has " + std::to_string(lengths_.size()) +
                             " lengths, and the particles have " + std::to_string(cloud.axes) +
                             " axes");
  if (!std::all_of(cloud.points.begin(), cloud.points.end(), is_finite))
    throw std::runtime_error(std::string(cloud.variable->name) +
                             " has positions that are not finite");
  return cloud;
}

std::string Cloud::name() const { return product_name(*variable); }

CellList::CellList(const std::vector<Point>& points, const Box& box, double reach)
    : points_(points), box_(box), reach_(reach) {
  if (!points.empty()) low_ = high_ = points[0];
  for (const Point& point : points) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low_[axis] = std::min(low_[axis], point[axis]);
      high_[axis] = std::max(high_[axis], point[axis]);
    }
  }
  const double most = std::cbrt(std::min(kMostCells, 8.0 + static_cast<double>(points.size())));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool periodic = box.lengths[axis] > 0;
    if (periodic) low_[axis] = 0;
    const double length = periodic ? box.lengths[axis] : high_[axis] - low_[axis];
    cells_[axis] =
        static_cast<std::int64_t>(std::clamp(std::floor(length / (kWider * reach)), 1.0, most));
    width_[axis] = length / static_cast<double>(cells_[axis]);
  }
  std::vector<std::uint32_t> cell_of;
  begins_.assign(static_cast<std::size_t>(cells_[0] * cells_[1] * cells_[2]) + 1, 0);
  for (const Point& point : points) {
    cell_of.push_back(number_of({along(point, 0), along(point, 1), along(point, 2)}));
    ++begins_[cell_of.back() + 1];
  }
  for (std::size_t cell = 1; cell < begins_.size(); ++cell) begins_[cell] += begins_[cell - 1];
  std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
  order_.resize(points.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    order_[next[cell_of[i]]++] = static_cast<std::uint32_t>(i);
}

// Of a periodic axis, wherever the particle is.
std::int64_t CellList::along(const Point& point, std::size_t axis) const {
  double place = point[axis] - low_[axis];
  const double length = box_.lengths[axis];
  if (length > 0) place -= length * std::floor(place / length);
  if (width_[axis] <= 0) return 0;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(place / width_[axis]), 0,
                                  cells_[axis] - 1);
}

// Of an axis that is not periodic, farther than the reach from all.
bool CellList::is_beyond(const Point& point) const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (box_.lengths[axis] > 0) continue;
    const double far = kWider * reach_;
    if (low_[axis] - point[axis] > far || point[axis] - high_[axis] > far) return true;
  }
  return false;
}

std::uint32_t CellList::number_of(const std::array<std::int64_t, 3>& cell) const {
  return static_cast<std::uint32_t>((cell[2] * cells_[1] + cell[1]) * cells_[0] + cell[0]);
}

CellList::Around CellList::around(const Point& point) const {
  std::array<std::array<std::int64_t, 3>, 3> near{};  // by axis
  std::array<std::size_t, 3> counts{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t here = along(point, axis), all = cells_[axis];
    for (std::int64_t step = -1; step <= 1; ++step) {
      std::int64_t cell = here + step;
      if (box_.lengths[axis] > 0) cell = (cell + all) % all;
      const auto end = near[axis].begin() + static_cast<std::ptrdiff_t>(counts[axis]);
      if (cell < 0 || cell >= all || std::find(near[axis].begin(), end, cell) != end) continue;
      near[axis][counts[axis]++] = cell;
    }
  }
  Around around{};
  for (std::size_t z = 0; z < counts[2]; ++z) {
    for (std::size_t y = 0; y < counts[1]; ++y) {
      for (std::size_t x = 0; x < counts[0]; ++x)
        around.cells[around.count++] = number_of({near[0][x], near[1][y], near[2][z]});
    }
  }
  return around;
}

}  // namespace leat::analytics

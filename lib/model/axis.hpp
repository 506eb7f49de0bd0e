// SPDX-License-Identifier: Apache-2.0
// Where values lie along a dimension of a variable: by its mesh, or by a variable that is called as the dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/status.hpp"

namespace leat::model {

struct Model;
struct Variable;

/// new = old * scale + offset.
struct UnitChange {
  double scale = 1, offset = 0;

  bool operator==(const UnitChange&) const = default;
  bool is_none() const noexcept { return scale == 1 && offset == 0; }
};

struct Axis {
  double first = 0, step = 0;  ///< of index 0 of the whole, and from one to the next; all alike
  std::optional<std::uint32_t>
      variable;  ///< else: of one dimension, it has them, or those of the nodes between which they lie
  std::string unit;

  bool operator==(const Axis&) const = default;
};

/// A variable of one dimension that is called as dimension `d` of this one, and along it: of its group, else of none.
std::optional<std::uint32_t> named_coordinate(const Model& model, const Variable& of,
                                              std::size_t d);
/// Of dimension `d` of that variable. The error says that there are none, and how they could be. After link_meshes.
Result<Axis> axis_along(const Model& model, std::uint32_t variable, std::size_t d);

}  // namespace leat::model

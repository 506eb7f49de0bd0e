// SPDX-License-Identifier: Apache-2.0
// Coordinates of meshes in the form of the CF conventions, so that xarray shows data by place.
// Source: CF Conventions 1.8, chapter 5, "Coordinate Systems and Domain".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// Places along one dimension: first + i * step.
struct AxisValues {
  double first = 0, step = 0;
  std::string unit;
  unsigned axis = 0;  ///< 0, 1, 2 for x, y, z

  bool operator==(const AxisValues&) const = default;
  std::vector<double> values(hsize_t count) const;
};

/// enum leat_centering, of the values along dimension `d` on a uniform mesh.
std::uint32_t centering_along(const leat_variable& variable, unsigned d);

/// Where the values of a variable lie along its dimension `d`, when it is on a uniform mesh: nodes,
/// or the centres between them. None where that is not known. `centering`: enum leat_centering.
std::optional<AxisValues> uniform_axis(const leat_run& run, const leat_variable& variable,
                                       unsigned d, std::uint32_t centering);

/// Whether the extent of a dimension, from number `first` on, may be another in each block.
bool varies_in_shape(const leat_variable& variable, unsigned first = 0);

/// Whether a variable gives the coordinates of the dimension that is called like it: written once,
/// of one dimension of its own name, and not in a group. It is that dimension's scale then.
bool is_coordinate_variable(const leat_variable& variable);

/// The attribute `axis` of places along 0, 1, 2 for x, y, z: "X", "Y", and "" for z. An axis "Z" of
/// CF must say what is up, which nobody has said. Source: CF Conventions 1.8, section 4.3.
std::string cf_axis(unsigned axis);

/// cf_axis() for a variable that alone has the coordinates along that axis of a rectilinear
/// mesh, else "".
std::string axis_of(const leat_run& run, const leat_variable& variable);

/// Names of the variables, as seen from `variable`, that say where its values lie and are not
/// coordinate variables: each has some of its dimensions.
std::vector<std::string> mesh_coordinates(const leat_run& run, const leat_variable& variable);

/// What the mesh says of the dimensions of a global array, kept in the parts for their view: an
/// attribute "leat_axis_<d>" for each, {first, step, axis}, and "leat_axis_units".
void note_axis(hid_t dataset, unsigned dimension, const AxisValues& axis);
std::optional<AxisValues> noted_axis(hid_t dataset, unsigned dimension);
/// From what has been copied with all other attributes.
void remove_noted_axes(hid_t dataset);

}  // namespace leat::hdf5

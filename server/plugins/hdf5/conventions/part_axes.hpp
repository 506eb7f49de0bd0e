// SPDX-License-Identifier: Apache-2.0
// What the mesh says of the dimensions of a global array, kept in the parts for their view: an
// attribute "leat_axis_<d>" for each, {first, step, axis}, and "leat_axis_units".
#pragma once

#include <optional>

#include "server/plugins/hdf5/conventions/mesh_axes.hpp"

namespace leat::hdf5 {

void note_axis(hid_t dataset, unsigned dimension, const AxisValues& axis);
std::optional<AxisValues> noted_axis(hid_t dataset, unsigned dimension);
/// From what has been copied with all other attributes.
void remove_noted_axes(hid_t dataset);

}  // namespace leat::hdf5

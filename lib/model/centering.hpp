// SPDX-License-Identifier: Apache-2.0
// Where values lie along each dimension of a uniform mesh: staggered grids have some quantities at
// the centres of cells and others on their faces.
#pragma once

#include "lib/model/read_steps.hpp"

namespace leat::model {

/// Sets Variable::centerings of all variables on uniform meshes, from their sizes: a mesh has as many
/// cells along an axis as the shortest zonal array on it has values; one value more is the nodes, at
/// both ends of each cell. Without zonal ones the longest nodal array has the nodes. Another size is a
/// warning, and those values have no known place. Sizes of parameters without a value, like nx and
/// nx+1, are compared where they differ by the same number whatever the simulation sets.
void place_on_uniform_meshes(ReadContext& context);

}  // namespace leat::model

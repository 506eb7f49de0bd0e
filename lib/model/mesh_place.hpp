// SPDX-License-Identifier: Apache-2.0
// Where a uniform or amr mesh lies when the simulation says it: origin="x0,y0" spacing="lx/nx,dy", of parameters that ranks set.
#pragma once

#include <string>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

struct MeshPlace {
  std::vector<double> origin, spacing;  ///< as of Mesh; all NaN where there is a problem
  std::string problem;                  ///< "", or why nobody knows where the mesh lies

  bool operator==(const MeshPlace&) const = default;
};

/// Whether parameters say where it lies.
inline bool is_placed_by_parameters(const Mesh& mesh) { return !mesh.given.empty(); }
bool any_is_placed_by_parameters(const Model& model);
/// With these values of the model's parameters; of a mesh that lies where the XML says, that.
MeshPlace place_of(const Model& model, const Mesh& mesh, const std::vector<ParameterValue>& values);
/// What the XML gives for it.
std::vector<ParameterValue> values_of_xml(const Model& model);
/// A mesh in whose numbers this parameter is; nullptr for none.
const Mesh* mesh_that_uses(const Model& model, std::uint32_t parameter);

}  // namespace leat::model

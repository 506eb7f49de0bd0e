// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/uniform_cells.hpp"

#include "server/plugins/hdf5/conventions/mesh_axes.hpp"

namespace leat::hdf5 {

void UniformCells::look_at(const leat_iteration_data& data) {
  if (leat_run_mesh_count(&run_) == 0) return;
  for (const leat_block& block : Blocks(data)) {
    const leat_variable& variable = *leat_variable_at(&run_, block.variable);
    const leat_mesh* mesh = leat_variable_mesh(&run_, &variable);
    if (!mesh || mesh->kind != LEAT_MESH_UNIFORM || !variable.has_global || !block.has_position)
      continue;
    if (seen_.insert(block.variable).second) look_at(variable, *mesh, block);
  }
}

void UniformCells::look_at(const leat_variable& variable, const leat_mesh& mesh,
                           const leat_block& block) {
  for (unsigned d = 0; d < variable.dims; ++d) {
    const std::optional<AxisValues> axis = uniform_axis(run_, variable, d);
    if (!axis || variable.dimension[d].varying) continue;
    const std::int64_t count = block.global[d] - (centering_along(variable, d) == LEAT_NODAL);
    const auto [cells, is_first] = cells_.insert({{variable.mesh, axis->axis}, {count, &variable}});
    if (is_first || cells->second.count == count) continue;
    misfits_.insert({&variable, d});
    say(variable, d, block.global[d], mesh, cells->second);
  }
}

void UniformCells::say(const leat_variable& variable, unsigned d, std::int64_t values,
                       const leat_mesh& mesh, const Cells& cells) {
  host_.warn("variable \"" + std::string(variable.name) + "\" has " + std::to_string(values) +
             " values along \"" + variable.dimension[d].name + "\", and its mesh \"" + mesh.name +
             "\" has " + std::to_string(cells.count) + " cells there, as \"" + cells.by->name +
             "\" says: where they lie is not known, and they get no coordinate. A mesh of its own "
             "says it");
}

}  // namespace leat::hdf5

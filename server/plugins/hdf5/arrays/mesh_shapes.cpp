// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/mesh_shapes.hpp"

#include <vector>

#include "server/plugins/hdf5/arrays/blocks.hpp"

namespace leat::hdf5 {
namespace {

bool differs(hsize_t a, hsize_t b) { return (a > b ? a - b : b - a) > 1; }

bool has_axes(const leat_mesh& mesh) {
  return mesh.kind == LEAT_MESH_RECTILINEAR || mesh.kind == LEAT_MESH_CURVILINEAR;
}

bool fills_uniform_mesh(const leat_run& run, const leat_variable& variable) {
  const leat_mesh* mesh = leat_variable_mesh(&run, &variable);
  return mesh && mesh->kind == LEAT_MESH_UNIFORM && mesh->dims == variable.dims &&
         variable.has_global != 0;
}

// x runs along the last dimension.
std::pair<std::int32_t, unsigned> axis_of_mesh(const leat_variable& variable, unsigned d) {
  return {variable.mesh, variable.dims - 1 - d};
}

}  // namespace

std::string MeshShapes::name_of(std::uint32_t variable) const {
  return "\"" + std::string(leat_variable_at(&run_, variable)->name) + "\"";
}

// "variable "t" has 10 values along "x""
std::string MeshShapes::values_along(std::uint32_t variable, std::size_t d) const {
  return "variable " + name_of(variable) + " has " + std::to_string(shapes_.at(variable)[d]) +
         " values along \"" + leat_variable_at(&run_, variable)->dimension[d].name + "\"";
}

void MeshShapes::look_at(const leat_iteration_data& data) {
  if (leat_run_mesh_count(&run_) == 0) return;
  std::vector<std::uint32_t> fresh;
  for (const leat_block& block : Blocks(data)) {
    if (remember(block)) fresh.push_back(block.variable);
  }
  if (fresh.empty()) return;
  for (const std::uint32_t variable : fresh) measure(variable);
  for (auto& [axis, cells] : cells_) cells.is_settled = true;
  for (const std::uint32_t variable : fresh) say_unplaced(variable);
  for (const auto& [variable, shape] : shapes_) compare(variable);
}

bool MeshShapes::remember(const leat_block& block) {
  if (shapes_.count(block.variable) > 0) return false;
  const leat_variable& variable = *leat_variable_at(&run_, block.variable);
  if (variable.has_global && !block.has_position) return false;
  shapes_[block.variable] = variable.has_global ? Shape(block.global, block.global + variable.dims)
                                                : own_extents(variable, block);
  return true;
}

// Of those that come together the shortest; who comes later changes nothing of what is in the file.
void MeshShapes::measure(std::uint32_t number) {
  const leat_variable& variable = *leat_variable_at(&run_, number);
  if (!fills_uniform_mesh(run_, variable)) return;
  for (unsigned d = 0; d < variable.dims; ++d) {
    const hsize_t values = shapes_.at(number)[d];
    const bool is_nodal = centering_along(variable, d) == LEAT_NODAL && values > 0;
    const Cells here{values - (is_nodal ? 1 : 0), number};
    Cells& known = cells_.try_emplace(axis_of_mesh(variable, d), here).first->second;
    if (!known.is_settled && here.count < known.count) known = here;
  }
}

// enum leat_centering of an array that was seen, or of what the XML says.
std::uint32_t MeshShapes::place_of(std::uint32_t number, unsigned d) const {
  const leat_variable& variable = *leat_variable_at(&run_, number);
  const auto seen = shapes_.find(number);
  const auto cells = cells_.find(axis_of_mesh(variable, d));
  if (seen == shapes_.end() || cells == cells_.end() || !fills_uniform_mesh(run_, variable))
    return centering_along(variable, d);
  const hsize_t values = seen->second[d], count = cells->second.count;
  return values == count ? LEAT_ZONAL : values == count + 1 ? LEAT_NODAL : LEAT_UNPLACED;
}

std::optional<AxisValues> MeshShapes::axis(const leat_variable& variable, unsigned d) const {
  const auto number = static_cast<std::uint32_t>(leat_variable_number(&run_, &variable));
  return uniform_axis(run_, variable, d, place_of(number, d));
}

void MeshShapes::say_unplaced(std::uint32_t number) {
  const leat_variable& variable = *leat_variable_at(&run_, number);
  for (unsigned d = 0; d < variable.dims; ++d) {
    // One that the XML does not place was told of at the start.
    if (centering_along(variable, d) == LEAT_UNPLACED || place_of(number, d) != LEAT_UNPLACED)
      continue;
    const Cells& cells = cells_.at(axis_of_mesh(variable, d));
    host_.warn(values_along(number, d) + ", and its mesh \"" +
               leat_variable_mesh(&run_, &variable)->name + "\" has " +
               std::to_string(cells.count) + " cells there, as " + name_of(cells.by) +
               " says: where they lie is not known, and they get no coordinate. A mesh of its own "
               "says it");
  }
}

void MeshShapes::compare(std::uint32_t variable) {
  const leat_mesh* mesh = leat_variable_mesh(&run_, leat_variable_at(&run_, variable));
  if (!mesh || !has_axes(*mesh)) return;
  for (unsigned axis = 0; axis < mesh->coordinate_count; ++axis)
    compare(*mesh, variable, static_cast<std::uint32_t>(mesh->coordinate[axis]));
}

// x runs along the last dimension.
void MeshShapes::compare(const leat_mesh& mesh, std::uint32_t variable, std::uint32_t coordinate) {
  const auto found = shapes_.find(coordinate);
  if (found == shapes_.end() || !compared_.insert({variable, coordinate}).second) return;
  const Shape &mine = shapes_[variable], &theirs = found->second;
  std::size_t d = 0;
  if (mesh.kind == LEAT_MESH_RECTILINEAR) {
    for (unsigned axis = 0; axis < mesh.coordinate_count; ++axis) {
      if (static_cast<std::uint32_t>(mesh.coordinate[axis]) == coordinate && axis < mine.size())
        d = mine.size() - 1 - axis;
    }
  }
  for (std::size_t of = 0; of < theirs.size() && d < mine.size(); ++of, ++d) {
    if (!differs(mine[d], theirs[of])) continue;
    host_.warn(values_along(variable, d) + ", and the coordinate " + name_of(coordinate) +
               " of its mesh \"" + mesh.name + "\" has " + std::to_string(theirs[of]) +
               ": both are stored, but nobody can tell where the values lie");
  }
}

// Of several servers the first one says it: ranks of another one need not write what all have.
void MeshShapes::close(const std::function<bool(std::uint32_t variable)>& has) {
  if (leat_run_is_resumed(&run_)) return;  // a server before this one may have had them
  if (leat_run_first_rank(&run_) > 0) return;
  std::set<std::pair<std::string, std::uint32_t>> said;
  for (const auto& [variable, shape] : shapes_) {
    const leat_mesh* mesh = leat_variable_mesh(&run_, leat_variable_at(&run_, variable));
    if (!mesh) continue;
    for (unsigned axis = 0; axis < mesh->coordinate_count; ++axis) {
      const auto coordinate = static_cast<std::uint32_t>(mesh->coordinate[axis]);
      if (shapes_.count(coordinate) > 0 || has(coordinate) ||
          !said.insert({mesh->name, coordinate}).second)
        continue;
      host_.warn("mesh \"" + std::string(mesh->name) + "\": its coordinate " + name_of(coordinate) +
                 " was never written, so nobody can tell where the values on it lie");
    }
  }
}

}  // namespace leat::hdf5

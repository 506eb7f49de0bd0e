// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/mesh_watch.hpp"

#include "server/plugins/hdf5/arrays/block_check.hpp"

namespace leat::hdf5 {
namespace {

bool differs(hsize_t a, hsize_t b) { return (a > b ? a - b : b - a) > 1; }

bool has_axes(const leat_mesh& mesh) {
  return mesh.kind == LEAT_MESH_RECTILINEAR || mesh.kind == LEAT_MESH_CURVILINEAR;
}

}  // namespace

std::string MeshWatch::name_of(std::uint32_t variable) const {
  return "\"" + std::string(leat_variable_at(&run_, variable)->name) + "\"";
}

void MeshWatch::look_at(const leat_iteration_data& data) {
  if (leat_run_mesh_count(&run_) == 0) return;
  bool something_new = false;
  for (const leat_block& block : Blocks(data)) something_new |= remember(block);
  if (!something_new) return;
  for (const auto& [variable, shape] : shapes_) compare(variable);
}

bool MeshWatch::remember(const leat_block& block) {
  if (shapes_.count(block.variable) > 0) return false;
  const leat_variable& variable = *leat_variable_at(&run_, block.variable);
  if (variable.has_global && !block.has_position) return false;
  shapes_[block.variable] = variable.has_global ? Shape(block.global, block.global + variable.dims)
                                                : own_extents(variable, block);
  return true;
}

void MeshWatch::compare(std::uint32_t variable) {
  const leat_mesh* mesh = leat_variable_mesh(&run_, leat_variable_at(&run_, variable));
  if (!mesh || !has_axes(*mesh)) return;
  for (unsigned axis = 0; axis < mesh->coordinate_count; ++axis)
    compare(*mesh, variable, static_cast<std::uint32_t>(mesh->coordinate[axis]));
}

// x runs along the last dimension.
void MeshWatch::compare(const leat_mesh& mesh, std::uint32_t variable, std::uint32_t coordinate) {
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
    host_.warn("variable " + name_of(variable) + " has " + std::to_string(mine[d]) +
               " values along \"" + leat_variable_at(&run_, variable)->dimension[d].name +
               "\", and the coordinate " + name_of(coordinate) + " of its mesh \"" + mesh.name +
               "\" has " + std::to_string(theirs[of]) +
               ": both are stored, but nobody can tell where the values lie");
  }
}

void MeshWatch::close() {
  if (leat_run_is_resumed(&run_)) return;  // a server before this one may have had them
  std::set<std::pair<std::string, std::uint32_t>> said;
  for (const auto& [variable, shape] : shapes_) {
    const leat_mesh* mesh = leat_variable_mesh(&run_, leat_variable_at(&run_, variable));
    if (!mesh) continue;
    for (unsigned axis = 0; axis < mesh->coordinate_count; ++axis) {
      const auto coordinate = static_cast<std::uint32_t>(mesh->coordinate[axis]);
      if (shapes_.count(coordinate) == 0 && said.insert({mesh->name, coordinate}).second)
        missing(*mesh, coordinate);
    }
  }
}

void MeshWatch::missing(const leat_mesh& mesh, std::uint32_t coordinate) {
  host_.warn("mesh \"" + std::string(mesh.name) + "\": its coordinate " + name_of(coordinate) +
             " was never written, so nobody can tell where the values on it lie");
}

}  // namespace leat::hdf5

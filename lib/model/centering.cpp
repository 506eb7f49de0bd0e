// SPDX-License-Identifier: Apache-2.0
#include "lib/model/centering.hpp"

#include <algorithm>

#include "lib/model/mesh_check.hpp"

namespace leat::model {
namespace {

// Values of a variable along one dimension, and how many cells of the mesh that would be.
struct AlongAxis {
  Variable* variable;
  std::size_t dimension;
  std::int64_t values;

  bool is_zonal() const { return variable->centering == Centering::zonal; }
  std::int64_t cells() const { return is_zonal() ? values : values - 1; }
};

// The one whose array has as many cells as the mesh; `all` is not empty.
const AlongAxis& measure(const std::vector<AlongAxis>& all) {
  const AlongAxis* best = &all.front();
  for (const AlongAxis& each : all) {
    const bool both_zonal = each.is_zonal() && best->is_zonal();
    const bool both_nodal = !each.is_zonal() && !best->is_zonal();
    if ((both_zonal && each.cells() < best->cells()) ||
        (both_nodal && each.cells() > best->cells()) || (each.is_zonal() && !best->is_zonal()))
      best = &each;
  }
  return *best;
}

std::string misfit(const AlongAxis& one, const AlongAxis& by, const Model& model) {
  const std::string cells = std::to_string(by.cells()), nodes = std::to_string(by.cells() + 1);
  return "variable \"" + one.variable->name + "\" has " + std::to_string(one.values) +
         " values along \"" + model.layouts[one.variable->layout].dimensions[one.dimension].name +
         "\", and its mesh \"" + model.meshes[*one.variable->mesh].name + "\" has " + cells +
         " cells there, as \"" + by.variable->name + "\" says: " + cells +
         " values lie at the centres of cells and " + nodes +
         " at the nodes; where others lie is not known, and they get no coordinate. A mesh of its "
         "own says it";
}

class Placing {
 public:
  explicit Placing(ReadContext& context) : context_(context), model_(context.model) {}

  // Arrays with a global shape are the whole; others are, where one rank has one block.
  void place(std::uint32_t mesh, bool has_global) {
    for (unsigned axis = 0; axis < model_.meshes[mesh].dims; ++axis) place(mesh, axis, has_global);
  }

 private:
  void place(std::uint32_t mesh, unsigned axis, bool has_global) {
    const std::vector<AlongAxis> all = along(mesh, axis, has_global);
    if (all.empty()) return;
    const AlongAxis& by = measure(all);
    for (const AlongAxis& each : all) each.variable->centerings[each.dimension] = of(each, by);
  }

  std::vector<AlongAxis> along(std::uint32_t mesh, unsigned axis, bool has_global) {
    std::vector<AlongAxis> all;
    for (std::uint32_t i = 0; i < model_.variables.size(); ++i) {
      Variable& variable = model_.variables[i];
      if (variable.mesh != mesh || context_.shapeless.count(i) > 0) continue;
      const Layout& layout = model_.layouts[variable.layout];
      if (layout.has_global != has_global || layout.dimensions.size() != model_.meshes[mesh].dims)
        continue;
      variable.centerings.resize(layout.dimensions.size(), variable.centering);
      const std::size_t d = layout.dimensions.size() - 1 - axis;  // x runs along the last one
      if (const auto values = whole_extent(model_, layout, d))
        all.push_back({&variable, d, *values});
    }
    return all;
  }

  Centering of(const AlongAxis& one, const AlongAxis& by) {
    if (one.values == by.cells()) return Centering::zonal;
    if (one.values == by.cells() + 1) return Centering::nodal;
    context_.out.warning(one.variable->where, misfit(one, by, model_));
    return Centering::unplaced;
  }

  ReadContext& context_;
  Model& model_;
};

}  // namespace

void place_on_uniform_meshes(ReadContext& context) {
  Placing placing(context);
  for (std::uint32_t mesh = 0; mesh < context.model.meshes.size(); ++mesh) {
    if (context.model.meshes[mesh].kind != Mesh::Kind::uniform) continue;
    placing.place(mesh, true);
    placing.place(mesh, false);
  }
}

}  // namespace leat::model

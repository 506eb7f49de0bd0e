// SPDX-License-Identifier: Apache-2.0
#include "lib/model/centering.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "lib/model/integer_values.hpp"
#include "lib/model/mesh_check.hpp"

namespace leat::model {
namespace {

// Values of a variable along one dimension, and how many cells of the mesh that would be.
struct AlongAxis {
  Variable* variable;
  std::size_t dimension;
  std::int64_t values;
  std::int64_t values_otherwise;  // with other values of the parameters that the XML leaves open

  bool is_known() const { return values == values_otherwise; }
  bool is_zonal() const { return variable->centering == Centering::zonal; }
  std::int64_t cells() const { return is_zonal() ? values : values - 1; }
};
using Axis = std::vector<AlongAxis>;

// What arithmetic can be done with; the XML may have any number.
bool is_size(std::optional<std::int64_t> values) {
  return values && *values >= 0 && *values < (std::int64_t{1} << 62);
}

// Whatever the simulation sets, one is longer than the other by the same number.
bool go_together(const AlongAxis& a, const AlongAxis& b) {
  return a.values - b.values == a.values_otherwise - b.values_otherwise;
}

// The one whose array has as many cells as the mesh; `all` is not empty.
const AlongAxis& measure(const Axis& all) {
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
  const std::string more = std::to_string(std::abs(one.values - by.cells()));
  const std::string name = model.layouts[one.variable->layout].dimensions[one.dimension].name;
  const std::string mesh = model.meshes[*one.variable->mesh].name, other = by.variable->name;
  const std::string rest =
      "; where others lie is not known, and they get no coordinate. A mesh of its own says it";
  if (one.is_known())
    return "variable \"" + one.variable->name + "\" has " + std::to_string(one.values) +
           " values along \"" + name + "\", and its mesh \"" + mesh + "\" has " + cells +
           " cells there, as \"" + other + "\" says: " + cells +
           " values lie at the centres of cells and " + nodes + " at the nodes" + rest;
  return "variable \"" + one.variable->name + "\" has " + more +
         (one.values > by.cells() ? " more" : " fewer") + " values along \"" + name +
         "\" than its mesh \"" + mesh + "\" has cells, as \"" + other +
         "\" says: as many lie at the centres of cells and one more at the nodes" + rest;
}

class Placing {
 public:
  explicit Placing(ReadContext& context)
      : context_(context),
        model_(context.model),
        values_(assumed(1009, 101)),
        otherwise_(assumed(2003, 307)) {}

  // Arrays with a global shape are the whole; others are, where one rank has one block.
  void place(std::uint32_t mesh, bool has_global) {
    for (unsigned axis = 0; axis < model_.meshes[mesh].dims; ++axis) {
      Axis all = along(mesh, axis, has_global);
      while (!all.empty()) all = place(all);
    }
  }

 private:
  // Parameters that the XML leaves open have some value, each another, and none a multiple of others.
  IntegerValues assumed(std::int64_t first, std::int64_t step) const {
    IntegerValues::Overrides all(model_.parameters.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!is_set(model_.parameters[i].value))
        all[i] = first + step * static_cast<std::int64_t>(i * i);
    return IntegerValues(model_.parameters, all);
  }

  // Places those that go with the first one; returns the others.
  Axis place(const Axis& all) {
    Axis together, others;
    for (const AlongAxis& each : all)
      (go_together(each, all.front()) ? together : others).push_back(each);
    const AlongAxis& by = measure(together);
    for (const AlongAxis& each : together) each.variable->centerings[each.dimension] = of(each, by);
    return others;
  }

  Axis along(std::uint32_t mesh, unsigned axis, bool has_global) {
    Axis all;
    for (std::uint32_t i = 0; i < model_.variables.size(); ++i) {
      Variable& variable = model_.variables[i];
      if (variable.mesh != mesh || context_.shapeless.count(i) > 0) continue;
      const Layout& layout = model_.layouts[variable.layout];
      if (layout.has_global != has_global || layout.dimensions.size() != model_.meshes[mesh].dims)
        continue;
      variable.centerings.resize(layout.dimensions.size(), variable.centering);
      const std::size_t d = layout.dimensions.size() - 1 - axis;  // x runs along the last one
      const auto values = whole_extent(values_, layout, d);
      const auto otherwise = whole_extent(otherwise_, layout, d);
      if (is_size(values) && is_size(otherwise)) all.push_back({&variable, d, *values, *otherwise});
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
  IntegerValues values_, otherwise_;
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

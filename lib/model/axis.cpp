// SPDX-License-Identifier: Apache-2.0
#include "lib/model/axis.hpp"

#include <cmath>

#include "lib/model/model.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

// x runs along the last dimension.
std::optional<Axis> uniform_axis(const Model& model, const Variable& of, std::size_t d) {
  if (!of.mesh) return std::nullopt;
  const Mesh& mesh = model.meshes[*of.mesh];
  const std::size_t dims = layout_of(model, of).dimensions.size();
  if (mesh.kind != MeshKind::uniform || mesh.dims != dims) return std::nullopt;
  const Centering centering = d < of.centerings.size() ? of.centerings[d] : of.centering;
  if (centering == Centering::unplaced) return std::nullopt;
  const std::size_t axis = dims - 1 - d;
  const double to_centre = centering == Centering::nodal ? 0 : mesh.spacing[axis] / 2;
  return Axis{mesh.origin[axis] + to_centre, mesh.spacing[axis], std::nullopt, mesh.unit};
}

bool is_along(const Model& model, std::uint32_t coordinate, const std::string& dimension) {
  const std::vector<Dimension>& its = layout_of(model, model.variables[coordinate]).dimensions;
  return its.size() == 1 && its[0].name == dimension;
}

std::optional<std::uint32_t> coordinate_of(const Model& model, const Variable& of, std::size_t d) {
  const std::vector<Dimension>& dimensions = layout_of(model, of).dimensions;
  if (of.mesh && model.meshes[*of.mesh].kind == MeshKind::rectilinear) {
    const Mesh& mesh = model.meshes[*of.mesh];
    for (const std::uint32_t each : mesh.coordinates)
      if (is_along(model, each, dimensions[d].name)) return each;
    const std::size_t axis = dimensions.size() - 1 - d;
    const std::size_t dims = mesh.dims > 0 ? mesh.dims : mesh.coordinates.size();  // not linked yet
    if (dims == dimensions.size() && axis < mesh.coordinates.size()) return mesh.coordinates[axis];
  }
  return named_coordinate(model, of, d);
}

}  // namespace

std::optional<std::uint32_t> named_coordinate(const Model& model, const Variable& of,
                                              std::size_t d) {
  const std::string& dimension = layout_of(model, of).dimensions[d].name;
  const std::string group = of.name.substr(0, of.name.rfind('/') + 1);
  for (const std::string& name : {group + dimension, dimension}) {
    const auto number = static_cast<std::uint32_t>(index_of(model.variables, name));
    if (number < model.variables.size() && is_along(model, number, dimension)) return number;
  }
  return std::nullopt;
}

Result<Axis> axis_along(const Model& model, std::uint32_t variable, std::size_t d) {
  const Variable& of = model.variables[variable];
  if (std::optional<Axis> uniform = uniform_axis(model, of, d)) {
    if (std::isfinite(uniform->first) && std::isfinite(uniform->step)) return *uniform;
    return Error{Status::ERROR_CONFIG,
                 "where \"" + of.name + "\" lies on the mesh \"" + model.meshes[*of.mesh].name +
                     "\" is known at run time only, and what is made of places has to know it "
                     "before: give the "
                     "parameters of its origin and spacing a value in the XML"};
  }
  const std::string& name = layout_of(model, of).dimensions[d].name;
  const std::optional<std::uint32_t> coordinate = coordinate_of(model, of, d);
  if (!coordinate)
    return Error{Status::ERROR_CONFIG, "where \"" + of.name + "\" lies along \"" + name +
                                           "\" is not known: give it a mesh of type uniform or "
                                           "rectilinear, or write a variable \"" +
                                           name + "\" of (" + name + ")"};
  return Axis{0, 0, coordinate, model.variables[*coordinate].unit};
}

}  // namespace leat::model

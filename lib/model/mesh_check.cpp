// SPDX-License-Identifier: Apache-2.0
#include "lib/model/mesh_check.hpp"

#include <cstdlib>

namespace leat::model {
namespace {

bool is_grid(const Mesh& mesh) {
  return mesh.kind == Mesh::Kind::uniform || mesh.kind == Mesh::Kind::rectilinear ||
         mesh.kind == Mesh::Kind::curvilinear || mesh.kind == Mesh::Kind::amr;
}

class MeshCheck {
 public:
  MeshCheck(ReadContext& context, const Variable& variable)
      : context_(context),
        model_(context.model),
        variable_(variable),
        mesh_(context.model.meshes[*variable.mesh]),
        layout_(context.model.layouts[variable.layout]) {}

  void run() {
    const std::size_t dims = layout_.dimensions.size();
    if (is_grid(mesh_) && mesh_.dims > 0 && dims != mesh_.dims) {
      return error("has " + std::to_string(dims) + (dims == 1 ? " dimension" : " dimensions") +
                   " and its mesh \"" + mesh_.name + "\" has " + std::to_string(mesh_.dims));
    }
    if (!is_grid(mesh_) && dims == 0)
      return error("is a single number, and its mesh \"" + mesh_.name + "\" has many points");
    if (mesh_.kind == Mesh::Kind::rectilinear) check_axes();
    if (mesh_.kind == Mesh::Kind::curvilinear) check_shape();
    if (mesh_.kind == Mesh::Kind::amr) check_patches();
  }

 private:
  void error(const std::string& message) {
    context_.error(variable_.where, "variable \"" + variable_.name + "\" " + message);
  }

  // x, the first coordinate, runs along the last dimension.
  void check_axes() {
    const std::size_t dims = layout_.dimensions.size();
    for (std::size_t axis = 0; axis < mesh_.coordinates.size() && axis < dims; ++axis)
      compare(dims - 1 - axis, mesh_.coordinates[axis], 0);
  }

  void check_shape() {
    for (const std::uint32_t coordinate : mesh_.coordinates) {
      const std::size_t dims =
          model_.layouts[model_.variables[coordinate].layout].dimensions.size();
      for (std::size_t d = 0; d < layout_.dimensions.size() && d < dims; ++d)
        compare(d, coordinate, d);
    }
  }

  // Blocks of an amr mesh are patches of cells that come and go.
  void check_patches() {
    const std::string of = " of its mesh \"" + mesh_.name + "\"";
    if (layout_.has_global)
      error("lies on the amr mesh \"" + mesh_.name + "\", and its layout \"" + layout_.name +
            "\" has global=\"...\", the size of one array: leave that out, since each block has "
            "its place among the cells of its level");
    if (variable_.centering == Centering::nodal)
      error("has centering \"nodal\"; the values of blocks" + of + " lie in cells: \"zonal\"");
    if (!variable_.time_varying)
      error("is written once, by time-varying=\"false\"; the blocks" + of +
            " may be others in each iteration");
  }

  void compare(std::size_t d, std::uint32_t coordinate, std::size_t of_coordinate) {
    const Variable& axis = model_.variables[coordinate];
    const Layout& layout = model_.layouts[axis.layout];
    if (layout.dimensions.size() <= of_coordinate) return;
    const IntegerValues known(model_.parameters);
    const auto mine = whole_extent(known, layout_, d);
    const auto theirs = whole_extent(known, layout, of_coordinate);
    if (!mine || !theirs || std::abs(*mine - *theirs) <= 1) return;
    error("has " + std::to_string(*mine) + " values along \"" + layout_.dimensions[d].name +
          "\", and the coordinate \"" + axis.name + "\" of its mesh \"" + mesh_.name + "\" has " +
          std::to_string(*theirs) + ": as many, or one more or less, would fit" +
          (mesh_.dims > 1 ? "; coordinates are in the order x, y, z, and x runs along the last "
                            "dimension, \"" +
                                layout_.dimensions.back().name + "\""
                          : ""));
  }

  ReadContext& context_;
  const Model& model_;
  const Variable& variable_;
  const Mesh& mesh_;
  const Layout& layout_;
};

}  // namespace

std::optional<std::int64_t> whole_extent(const IntegerValues& parameters, const Layout& layout,
                                         std::size_t d) {
  const Dimension& dimension = layout.dimensions[d];
  if (dimension.varying && !layout.has_global) return std::nullopt;
  const ExpressionValue value =
      parameters.evaluate(layout.has_global ? dimension.global : dimension.extent);
  if (value.fault != ExpressionFault::none) return std::nullopt;
  if (layout.has_global) return value.value;
  return value.value - dimension.ghost_low - dimension.ghost_high;
}

void check_on_mesh(ReadContext& context, const Variable& variable) {
  MeshCheck(context, variable).run();
}

}  // namespace leat::model

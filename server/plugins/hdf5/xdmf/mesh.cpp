// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/xdmf/mesh.hpp"

#include "server/plugins/hdf5/vtkhdf/field.hpp"
#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

namespace leat::hdf5::xdmf {
namespace {

std::string why_not(const leat_variable& variable) {
  const std::string why = why_no_name(variable.name);
  return why.empty() ? vtk::why_vtk_cannot(variable) : why;
}

std::unique_ptr<Mesh> made(const Target& target, std::uint32_t number, LeftOut* left_out) {
  switch (static_cast<leat_mesh_kind>(leat_mesh_at(&target.run, number)->kind)) {
    case LEAT_MESH_UNIFORM:
    case LEAT_MESH_RECTILINEAR:
    case LEAT_MESH_CURVILINEAR:
      return make_grid_mesh(target, number, left_out);
    case LEAT_MESH_UNSTRUCTURED:
      return make_cells_mesh(target, number, left_out);
    case LEAT_MESH_POINTS:
      return make_points_mesh(target, number, left_out);
    case LEAT_MESH_AMR:
      throw std::runtime_error(
          "XDMF has no levels of blocks; VTK and ParaView see them in /VTKHDF");
  }
  return nullptr;
}

}  // namespace

Mesh::Mesh(const Target& target, std::uint32_t number, LeftOut* left_out)
    : target_(target), mesh_(*leat_mesh_at(&target.run, number)), left_out_(left_out) {
  variables_ = find_variables();
  for (const std::uint32_t variable : vtk::made_of(mesh_))
    written_.watch(target_, field_of(variable));
  for (const std::uint32_t variable : variables_) written_.watch(target_, field_of(variable));
}

std::vector<std::uint32_t> Mesh::find_variables() const {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t i : vtk::variables_on(target_.run, mesh_)) {
    const leat_variable& variable = *leat_variable_at(&target_.run, i);
    const std::string why = why_not(variable);
    if (!why.empty())
      leave_out(i, why);
    else if (is_dataset(target_.values, variable.name))
      found.push_back(i);
  }
  return found;
}

std::vector<BlockArray> Mesh::block_arrays() const {
  std::vector<BlockArray> arrays;
  for (const std::uint32_t variable : variables_) {
    const vtk::Field field = field_of(variable);
    arrays.push_back({array_name(variable), vtk::Elements(target_, field),
                      extents_in(target_.values, field.path())});
  }
  return arrays;
}

void Mesh::leave_out(std::uint32_t variable, const std::string& why) const {
  left_out_->insert("variable \"" + std::string(leat_variable_at(&target_.run, variable)->name) +
                    "\": " + why);
}

std::string Mesh::array_name(std::uint32_t variable) const {
  return vtk::array_name(target_.run, variable);
}

std::unique_ptr<Mesh> make_mesh(const Target& target, std::uint32_t number, LeftOut* left_out) {
  if (!vtk::is_whole(target, *leat_mesh_at(&target.run, number), why_not)) return nullptr;
  return made(target, number, left_out);
}

void begin_grid(XmlStream& xml, const std::string& name, const Step& step, bool inside) {
  const std::string unique = name + "[" + std::to_string(step.iteration) + "]";
  xml.begin("Grid", {{"Name", unique}, {"GridType", "Uniform"}});
  if (!inside) xml.empty("Time", {{"Value", number_text(step.time)}});
}

void begin_collection(XmlStream& xml, const std::string& name, const Step& step, bool inside) {
  xml.begin("Grid", {{"Name", name}, {"GridType", "Collection"}, {"CollectionType", "Spatial"}});
  if (!inside) xml.empty("Time", {{"Value", number_text(step.time)}});
}

// Without cells, but with a point: of a geometry without any, VTK takes the number from memory that
// nobody has written (XdmfGeometry, to 9.7), and ends with a crash.
void put_nothing(XmlStream& xml) {
  xml.empty("Topology", {{"TopologyType", "Polyvertex"}, {"NumberOfElements", "0"}});
  xml.begin("Geometry", {{"GeometryType", "XYZ"}});
  xml.element(
      "DataItem",
      {{"Dimensions", "1 3"}, {"NumberType", "Float"}, {"Precision", "8"}, {"Format", "XML"}},
      "0 0 0");
  xml.end();
}

// A vector of two gets a third number, 0, for which large integers go through doubles. Readers
// count the values of a Matrix otherwise when its shape has two dimensions.
void put_attribute(const Output& to, const std::string& name, const char* center, const Slab& slab,
                   hsize_t components) {
  const bool is_long = slab.type == LEAT_INT64 || slab.type == LEAT_UINT64;
  const bool is_vector = components == 3 || (components == 2 && !is_long);
  const char* type = components == 1   ? "Scalar"
                     : is_vector       ? "Vector"
                     : components == 9 ? "Tensor"
                                       : "Matrix";
  to.xml.begin("Attribute", {{"Name", name}, {"AttributeType", type}, {"Center", center}});
  Slab shown = slab;
  if (components > 1 && !is_vector) shown.shape.insert(shown.shape.end() - 1, 1);
  xdmf::put(to, shown);
  to.xml.end();
}

Points::Points(const Target& target, const std::vector<vtk::Field>& axes)
    : type_(vtk::are_single(axes) ? LEAT_FLOAT32 : LEAT_FLOAT64) {
  for (const vtk::Field& axis : axes) {
    axes_.emplace_back(target, axis);
    extents_.push_back(extents_in(target.values, axis.path()));
  }
}

vtk::Elements::Row Points::at(hsize_t row) { return vtk::blocks_of(&axes_, row); }

// Axes that are not said are 0.
void Points::put(const Output& to, const vtk::Elements::Row& found, hsize_t row,
                 std::size_t first_block, std::size_t blocks) const {
  const hsize_t together = axes_.size() == 1 ? axes_[0].components() : 1;
  const std::size_t axes = axes_.size() == 1 ? together : axes_.size();
  const char* type = together == 3 ? "XYZ" : together == 2 ? "XY" : axes == 3 ? "X_Y_Z" : "X_Y";
  to.xml.begin("Geometry", {{"GeometryType", type}});
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    Slab slab = elements(axes_[axis], extents_[axis], found, row, first_block, blocks);
    slab.type = type_;
    xdmf::put(to, slab);
  }
  to.xml.end();
}

}  // namespace leat::hdf5::xdmf

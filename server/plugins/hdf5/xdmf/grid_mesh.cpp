// SPDX-License-Identifier: Apache-2.0
// Uniform, rectilinear and curvilinear meshes: one Grid whose arrays are the datasets themselves.
// What was not written in a step is the fill value that the dataset has there.
#include <algorithm>
#include <stdexcept>

#include "server/plugins/hdf5/xdmf/mesh.hpp"

namespace leat::hdf5::xdmf {
namespace {

struct GridArray {
  std::string name;
  const char* center;
  hsize_t rows;
  vtk::Field field;
};

Shape cells_between(const Shape& nodes) {
  Shape cells = nodes;
  for (hsize_t& count : cells) count = std::max<hsize_t>(count, 1) - 1;
  return cells;
}

// An axis of a mesh: where it is in the file, from the row on in which it was last written.
struct Axis {
  vtk::Field field;
  Shape extents;
  vtk::WrittenRows written;
};

class GridMesh : public Mesh {
 public:
  GridMesh(const Place& place, std::uint32_t number, LeftOut* left_out)
      : Mesh(place, number, left_out) {
    for (std::uint32_t axis = 0; axis < mesh_.coordinate_count; ++axis)
      take_axis(field_of(mesh_.coordinate[axis]));
    std::vector<vtk::Field> fields;
    for (const Axis& axis : axes_) fields.push_back(axis.field);
    type_ = type_of_points(fields);
    for (const std::uint32_t variable : variables()) {
      try {
        take_up(variable);
      } catch (const std::exception& e) {
        leave_out(variable, e.what());
      }
    }
    if (nodes_.empty()) throw std::runtime_error("nothing on it has the shape of its cells");
    key_ = "mesh " + std::to_string(number);
  }

  void put_shared(XmlStream& xml) const override {
    if (is_line() && nodes_[0] > 1) put_numbers(xml, key_ + " lines", line_ends());
    if (mesh_.kind != LEAT_MESH_UNIFORM || mesh_.dims > 2) return;
    for (std::uint32_t axis = 0; axis < mesh_.dims; ++axis)
      put_values(xml, key_ + " axis " + std::to_string(axis), places_along(axis));
  }

  void put(const Output& to, const Step& step, bool inside) override {
    const hsize_t row = step.row;
    begin_grid(to.xml, name(), step, inside);
    put_topology(to.xml);
    put_geometry(to, row);
    for (const GridArray& array : arrays_) {
      if (array.field.varies && row >= array.rows) continue;
      put_attribute(to, array.name, array.center,
                    whole(array.field, extents_of(array.field, array.rows), row), 1);
    }
    to.xml.end();
  }

 private:
  bool is_line() const { return mesh_.dims == 1; }

  static Shape extents_of(const vtk::Field& field, hsize_t rows) {
    return field.varies ? joined(rows, field.shape) : field.shape;
  }

  // x is the last dimension.
  void take_axis(const vtk::Field& field) {
    const bool curvilinear = mesh_.kind == LEAT_MESH_CURVILINEAR;
    if (field.form == vtk::Field::Form::ragged || field.shape.empty() ||
        (curvilinear && field.form == vtk::Field::Form::slots))
      throw std::runtime_error("its coordinate \"" + field.path() + "\" is in many pieces");
    if (curvilinear && !nodes_.empty() && field.shape != nodes_)
      throw std::runtime_error("its coordinates have different shapes");
    if (curvilinear)
      nodes_ = field.shape;
    else
      nodes_.insert(nodes_.begin(), field.shape.back());
    axes_.push_back({field, extents_in(place_.values, field.path()), {place_, field}});
  }

  void take_up(std::uint32_t variable) {
    const vtk::Field field = field_of(static_cast<std::int32_t>(variable));
    if (field.form != vtk::Field::Form::whole)
      throw std::runtime_error("it has many blocks and no global shape");
    if (mesh_.kind == LEAT_MESH_UNIFORM) expect_fixed(*field.variable);
    const bool nodal = is_nodal(field);
    const hsize_t rows = field.varies ? extents_in(place_.values, field.path())[0] : 1;
    arrays_.push_back({array_name(variable), nodal ? "Node" : "Cell", rows, field});
  }

  static void expect_fixed(const leat_variable& variable) {
    for (unsigned d = 0; d < variable.dims; ++d) {
      if (variable.dimension[d].varying) throw std::runtime_error("its shape may change");
    }
  }

  // Throws when it has values for neither. The first one says how large a uniform mesh is.
  bool is_nodal(const vtk::Field& field) {
    if (mesh_.kind == LEAT_MESH_UNIFORM && nodes_.empty()) nodes_ = nodes_of(field);
    const Shape cells = cells_between(nodes_);
    const bool has_cells = std::find(cells.begin(), cells.end(), 0) == cells.end();
    const bool said_nodal = mesh_.kind == LEAT_MESH_UNIFORM
                                ? field.variable->centering == LEAT_NODAL
                                : field.shape == nodes_;
    if (said_nodal && field.shape == nodes_) return true;
    if (!said_nodal && has_cells && field.shape == cells) return false;
    throw std::runtime_error("its shape " + listed(field.shape) +
                             " is neither that of the nodes, " + listed(nodes_) +
                             ", nor that of the cells between them");
  }

  Shape nodes_of(const vtk::Field& field) const {
    Shape nodes = field.shape;
    const bool nodal = field.variable->centering == LEAT_NODAL;
    for (hsize_t& count : nodes) count += nodal ? 0 : 1;
    if (nodes.size() != mesh_.dims || *std::min_element(nodes.begin(), nodes.end()) < 2)
      throw std::runtime_error("its shape " + listed(field.shape) + " has no cells of the mesh");
    return nodes;
  }

  void put_topology(XmlStream& xml) const {
    const std::string counts = listed_plainly(nodes_);
    const hsize_t lines = cells_between(nodes_)[0];
    if (is_line() && lines == 0)
      return xml.empty("Topology", {{"TopologyType", "Polyvertex"}, {"NumberOfElements", "1"}});
    if (is_line()) {
      xml.begin("Topology", {{"TopologyType", "Polyline"},
                             {"NumberOfElements", std::to_string(lines)},
                             {"NodesPerElement", "2"}});
      put_shared_rows(xml, key_ + " lines", lines, 2);
      return xml.end();
    }
    const bool flat = mesh_.dims == 2;
    const char* type = mesh_.kind == LEAT_MESH_CURVILINEAR ? (flat ? "2DSMesh" : "3DSMesh")
                       : flat                              ? "2DRectMesh"
                       : mesh_.kind == LEAT_MESH_UNIFORM   ? "3DCoRectMesh"
                                                           : "3DRectMesh";
    xml.empty("Topology", {{"TopologyType", type}, {"Dimensions", counts}});
  }

  void put_geometry(const Output& to, hsize_t row) {
    if (mesh_.kind == LEAT_MESH_UNIFORM && mesh_.dims == 3) return put_origin(to.xml);
    const bool rectangular = !is_line() && mesh_.kind != LEAT_MESH_CURVILINEAR;
    const char* type =
        rectangular ? (mesh_.dims == 3 ? "VXVYVZ" : "VXVY") : (mesh_.dims == 3 ? "X_Y_Z" : "X_Y");
    to.xml.begin("Geometry", {{"GeometryType", type}});
    for (Axis& axis : axes_) xdmf::put(to, slab_of(&axis, row));
    if (mesh_.kind == LEAT_MESH_UNIFORM) put_shared_axes(to.xml);
    to.xml.end();
  }

  void put_shared_axes(XmlStream& xml) const {
    for (std::uint32_t axis = 0; axis < mesh_.dims; ++axis)
      xdmf::put_shared(xml, key_ + " axis " + std::to_string(axis));
  }

  // In the order z, y, x: as of the dimensions of a dataset.
  void put_origin(XmlStream& xml) const {
    xml.begin("Geometry", {{"GeometryType", "ORIGIN_DXDYDZ"}});
    for (const double* const three : {mesh_.origin, mesh_.spacing}) {
      xml.begin(
          "DataItem",
          {{"Dimensions", "3"}, {"NumberType", "Float"}, {"Precision", "8"}, {"Format", "XML"}});
      xml.text(number_text(three[2]) + " " + number_text(three[1]) + " " + number_text(three[0]));
      xml.end();
    }
    xml.end();
  }

  // A mesh stays where it is till it is moved. Of an axis that each rank has written, the first one
  // is taken.
  Slab slab_of(Axis* axis, hsize_t row) const {
    const hsize_t last = axis->field.varies ? axis->written.last_upto(row) : 0;
    Slab slab = whole(axis->field, axis->extents, last);
    slab.type = type_;
    if (mesh_.kind == LEAT_MESH_CURVILINEAR) return slab;
    for (std::size_t d = 0; d + 1 < slab.count.size(); ++d) slab.count[d] = 1;
    slab.shape = {slab.count.back()};
    return slab;
  }

  std::vector<double> places_along(std::uint32_t axis) const {
    std::vector<double> places(nodes_[mesh_.dims - 1 - axis]);
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i] = mesh_.origin[axis] + static_cast<double>(i) * mesh_.spacing[axis];
    return places;
  }

  std::vector<std::int64_t> line_ends() const {
    std::vector<std::int64_t> ends;
    for (std::int64_t line = 0; line < static_cast<std::int64_t>(cells_between(nodes_)[0]); ++line)
      ends.insert(ends.end(), {line, line + 1});
    return ends;
  }

  std::string key_;  // what its shared values are called after
  Shape nodes_;      // in each dimension, as variables have them: z, y, x
  std::vector<Axis> axes_;
  std::uint32_t type_ = 0;  // by which these are read
  std::vector<GridArray> arrays_;
};

}  // namespace

std::unique_ptr<Mesh> make_grid_mesh(const Place& place, std::uint32_t number, LeftOut* left_out) {
  return std::make_unique<GridMesh>(place, number, left_out);
}

}  // namespace leat::hdf5::xdmf

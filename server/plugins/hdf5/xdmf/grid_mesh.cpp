// SPDX-License-Identifier: Apache-2.0
// Uniform, rectilinear and curvilinear meshes: one Grid whose arrays are the datasets themselves.
// What was not written in a step is the fill value that the dataset has there.
#include <algorithm>
#include <stdexcept>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
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
  GridMesh(const Target& target, std::uint32_t number, LeftOut* left_out)
      : Mesh(target, number, left_out) {
    const std::vector<vtk::Field> fields = vtk::axes_of(target, mesh_);
    nodes_ = vtk::nodes_of(mesh_, fields);
    type_ = vtk::are_single(fields) ? LEAT_FLOAT32 : LEAT_FLOAT64;
    for (const vtk::Field& field : fields)
      axes_.push_back({field, extents_in(target.values, field.path()), {target, field}});
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
    if (is_line() && is_uniform()) put_values(xml, key_ + " axis", places_along(0));
    if (!is_flat() || is_uniform()) return;
    put_values(xml, key_ + " plane", {0});
    for (std::size_t axis = 0; has("Cell") && axis < axes_.size(); ++axis)
      put_values(xml, key_ + " centres " + std::to_string(axis), centres_of(axes_[axis]));
  }

  void put(const Output& to, const Step& step, bool inside) override {
    const bool both = is_flat() && has("Node") && has("Cell");
    if (both) begin_collection(to.xml, name(), step, inside);
    if (is_flat() && has("Cell"))
      put_flat(to, both ? name() + " centres" : name(), step, inside || both, "Cell");
    if (is_flat() && (has("Node") || !has("Cell")))
      put_flat(to, both ? name() + " nodes" : name(), step, inside || both, "Node");
    if (both) to.xml.end();
    if (!is_flat()) put_whole(to, step, inside);
  }

 private:
  bool is_uniform() const { return mesh_.kind == LEAT_MESH_UNIFORM; }
  bool is_line() const { return mesh_.dims == 1; }
  // VTK lays a 2DCoRectMesh into the y-z plane, loses half of a 2DRectMesh when it gives it to a
  // filter, and reads no values of cells where a 3-d mesh is no cell thick. So values of cells are
  // shown as those of points, the centres of the cells, and nodes have a mesh of their own.
  bool is_flat() const { return mesh_.dims == 2 && mesh_.kind != LEAT_MESH_CURVILINEAR; }

  bool has(const std::string& center) const {
    return std::any_of(arrays_.begin(), arrays_.end(),
                       [&](const GridArray& array) { return array.center == center; });
  }

  void put_whole(const Output& to, const Step& step, bool inside) {
    begin_grid(to.xml, name(), step, inside);
    put_topology(to.xml);
    put_geometry(to, step.row);
    for (const GridArray& array : arrays_) {
      if (!array.field.varies || step.row < array.rows)
        put_attribute(to, array.name, array.center, slab_of(array, step.row), 1);
    }
    to.xml.end();
  }

  // What is at nodes, or in cells.
  void put_flat(const Output& to, const std::string& grid, const Step& step, bool inside,
                const std::string& center) {
    const bool centres = center == "Cell";
    begin_grid(to.xml, grid, step, inside);
    to.xml.empty(
        "Topology",
        {{"TopologyType", is_uniform() ? "3DCoRectMesh" : "3DRectMesh"},
         {"Dimensions", listed_plainly(joined(1, centres ? cells_between(nodes_) : nodes_))}});
    if (is_uniform())
      put_origin(to.xml, centres ? 0.5 : 0.0);
    else
      put_flat_axes(to, step.row, centres);
    for (const GridArray& array : arrays_) {
      if (array.center != center || (array.field.varies && step.row >= array.rows)) continue;
      Slab slab = slab_of(array, step.row);
      slab.shape = joined(1, slab.shape);
      put_attribute(to, array.name, "Node", slab, 1);
    }
    to.xml.end();
  }

  void put_flat_axes(const Output& to, hsize_t row, bool centres) {
    to.xml.begin("Geometry", {{"GeometryType", "VXVYVZ"}});
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (centres)
        xdmf::put_shared(to.xml, key_ + " centres " + std::to_string(axis));
      else
        xdmf::put(to, slab_of(&axes_[axis], row));
    }
    xdmf::put_shared(to.xml, key_ + " plane");
    to.xml.end();
  }

  static Slab slab_of(const GridArray& array, hsize_t row) {
    return whole(array.field, extents_of(array.field, array.rows), row);
  }

  // Between the nodes of an axis that stays where it is.
  std::vector<double> centres_of(const Axis& axis) const {
    Shape count(axis.extents.size(), 1);
    count.back() = axis.extents.back();
    std::vector<double> places(count.back());
    read_part(open_dataset(target_.values, axis.field.path()), H5T_NATIVE_DOUBLE, zeros(count),
              count, places.data(), "cannot read " + axis.field.path());
    for (std::size_t i = 0; i + 1 < places.size(); ++i) places[i] = (places[i] + places[i + 1]) / 2;
    places.pop_back();
    return places;
  }

  static Shape extents_of(const vtk::Field& field, hsize_t rows) {
    return field.varies ? joined(rows, field.shape) : field.shape;
  }

  void take_up(std::uint32_t variable) {
    const vtk::Field field = field_of(variable);
    if (field.form != vtk::Field::Form::whole)
      throw std::runtime_error("it has many blocks and no global shape");
    if (is_uniform() && varies_in_shape(*field.variable))
      throw std::runtime_error("its shape may change");
    const bool nodal = is_nodal(field);
    const bool moves =
        std::any_of(axes_.begin(), axes_.end(), [](const Axis& axis) { return axis.field.varies; });
    if (is_flat() && !nodal && moves)
      throw std::runtime_error("it has values for cells of a 2-d mesh whose axes vary in time");
    const hsize_t rows = field.varies ? extents_in(target_.values, field.path())[0] : 1;
    arrays_.push_back({array_name(variable), nodal ? "Node" : "Cell", rows, field});
  }

  // Throws when it has values for neither. The first one says how large a uniform mesh is.
  bool is_nodal(const vtk::Field& field) {
    if (is_uniform() && nodes_.empty()) nodes_ = nodes_of(field);
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
    const char* type = mesh_.dims == 2                       ? "2DSMesh"
                       : mesh_.kind == LEAT_MESH_CURVILINEAR ? "3DSMesh"
                       : is_uniform()                        ? "3DCoRectMesh"
                                                             : "3DRectMesh";
    xml.empty("Topology", {{"TopologyType", type}, {"Dimensions", counts}});
  }

  void put_geometry(const Output& to, hsize_t row) {
    if (is_uniform() && !is_line()) return put_origin(to.xml, 0.0);
    const bool rectangular = !is_line() && mesh_.kind == LEAT_MESH_RECTILINEAR;
    const char* type = rectangular ? "VXVYVZ" : mesh_.dims == 3 ? "X_Y_Z" : "X_Y";
    to.xml.begin("Geometry", {{"GeometryType", type}});
    for (Axis& axis : axes_) xdmf::put(to, slab_of(&axis, row));
    if (is_uniform()) xdmf::put_shared(to.xml, key_ + " axis");
    to.xml.end();
  }

  // In the order z, y, x: as of the dimensions of a dataset.
  // `shift`: in cells.
  void put_origin(XmlStream& xml, double shift) const {
    std::string origin = mesh_.dims < 3 ? "0" : "", spacing = mesh_.dims < 3 ? "1" : "";
    for (int axis = static_cast<int>(mesh_.dims) - 1; axis >= 0; --axis) {
      const double step = mesh_.spacing[axis], first = mesh_.origin[axis] + shift * step;
      origin += (origin.empty() ? "" : " ") + number_text(first);
      spacing += (spacing.empty() ? "" : " ") + number_text(step);
    }
    xml.begin("Geometry", {{"GeometryType", "ORIGIN_DXDYDZ"}});
    for (const std::string& three : {origin, spacing})
      xml.element(
          "DataItem",
          {{"Dimensions", "3"}, {"NumberType", "Float"}, {"Precision", "8"}, {"Format", "XML"}},
          three);
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

std::unique_ptr<Mesh> make_grid_mesh(const Target& target, std::uint32_t number,
                                     LeftOut* left_out) {
  return std::make_unique<GridMesh>(target, number, left_out);
}

}  // namespace leat::hdf5::xdmf

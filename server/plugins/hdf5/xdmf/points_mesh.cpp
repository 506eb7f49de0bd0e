// SPDX-License-Identifier: Apache-2.0
// Particles: one Grid with the points of all blocks, which lie one after the other in the file.
#include "server/plugins/hdf5/xdmf/mesh.hpp"

namespace leat::hdf5::xdmf {
namespace {

class PointsMesh : public Mesh {
 public:
  PointsMesh(const Place& place, std::uint32_t number, LeftOut* left_out)
      : Mesh(place, number, left_out), points_(place, axes()) {
    for (const std::uint32_t variable : variables()) {
      const vtk::Field field = field_of(static_cast<std::int32_t>(variable));
      arrays_.push_back({array_name(variable), "Node", vtk::Elements(place, field),
                         extents_in(place.values, field.path())});
    }
  }

  void put(const Output& to, const Step& step, bool inside) override {
    const vtk::Elements::Row found = points_.at(step.row);
    begin_grid(to.xml, name(), step, inside);
    if (found.total() > 0)
      put_points(to, found, step.row);
    else
      put_nothing(to.xml);
    to.xml.end();
  }

 private:
  std::vector<vtk::Field> axes() const {
    std::vector<vtk::Field> fields;
    for (std::uint32_t axis = 0; axis < mesh_.coordinate_count; ++axis)
      fields.push_back(field_of(mesh_.coordinate[axis]));
    return fields;
  }

  void put_points(const Output& to, const vtk::Elements::Row& found, hsize_t row) {
    to.xml.empty("Topology", {{"TopologyType", "Polyvertex"},
                              {"NumberOfElements", std::to_string(found.total())}});
    points_.put(to, found, row, 0, found.counts.size());
    for (BlockArray& array : arrays_) {
      const vtk::Elements::Row mine = array.values.at(row);
      if (!mine.matches(found)) continue;
      put_attribute(to, array.name, array.center,
                    elements(array.values, array.extents, mine, row, 0, mine.counts.size()),
                    array.values.components());
    }
  }

  Points points_;
  std::vector<BlockArray> arrays_;
};

}  // namespace

std::unique_ptr<Mesh> make_points_mesh(const Place& place, std::uint32_t number,
                                       LeftOut* left_out) {
  return std::make_unique<PointsMesh>(place, number, left_out);
}

}  // namespace leat::hdf5::xdmf

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

  // None are shown as none: a step that were left out would show those of the one before.
  bool put(const Output& to, const Step& step, bool inside) override {
    const hsize_t row = step.row;
    const vtk::Elements::Row found = points_.at(row);
    const bool has_some = found.total() > 0;
    begin_grid(to.xml, name(), step, inside);
    to.xml.empty("Topology", {{"TopologyType", "Polyvertex"},
                              {"NumberOfElements", std::to_string(found.total())}});
    points_.put(to, has_some ? found : vtk::Elements::Row{}, row, 0, found.counts.size());
    for (BlockArray& array : arrays_) {
      if (!has_some || !array.values.at(row).matches(found)) continue;
      const vtk::Elements::Row mine = array.values.at(row);
      put_attribute(to, array.name, array.center,
                    elements(array.values, array.extents, mine, row, 0, mine.counts.size()),
                    array.values.components());
    }
    to.xml.end();
    return true;
  }

 private:
  std::vector<vtk::Field> axes() const {
    std::vector<vtk::Field> fields;
    for (std::uint32_t axis = 0; axis < mesh_.coordinate_count; ++axis)
      fields.push_back(field_of(mesh_.coordinate[axis]));
    return fields;
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

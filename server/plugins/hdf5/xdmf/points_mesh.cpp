// SPDX-License-Identifier: Apache-2.0
// Particles: one Grid with the points of all blocks, which lie one after the other in the file.
#include "server/plugins/hdf5/xdmf/mesh.hpp"

namespace leat::hdf5::xdmf {
namespace {

class PointsMesh : public Mesh {
 public:
  PointsMesh(const Target& target, std::uint32_t number, LeftOut* left_out)
      : Mesh(target, number, left_out),
        points_(target, vtk::axes_of(target, mesh_)),
        arrays_(block_arrays()) {}

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
  void put_points(const Output& to, const vtk::Elements::Row& found, hsize_t row) {
    to.xml.empty("Topology", {{"TopologyType", "Polyvertex"},
                              {"NumberOfElements", std::to_string(found.total())}});
    points_.put(to, found, row, 0, found.counts.size());
    for (BlockArray& array : arrays_) {
      const vtk::Elements::Row mine = array.values.at(row);
      if (!mine.matches(found)) continue;
      put_attribute(to, array.name, "Node",
                    elements(array.values, array.extents, mine, row, 0, mine.counts.size()),
                    array.values.components());
    }
  }

  Points points_;
  std::vector<BlockArray> arrays_;
};

}  // namespace

std::unique_ptr<Mesh> make_points_mesh(const Target& target, std::uint32_t number,
                                       LeftOut* left_out) {
  return std::make_unique<PointsMesh>(target, number, left_out);
}

}  // namespace leat::hdf5::xdmf

// SPDX-License-Identifier: Apache-2.0
// Meshes of blocks.
#include <optional>

#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/xdmf/mesh.hpp"

namespace leat::hdf5::xdmf {
namespace {

struct CellShape {
  std::uint32_t vtk;
  const char* xdmf;
  hsize_t points;  // 0: as many as the connectivity has components
};

// Source: vtkCellType.h; "XDMF Model and Format", "Topology".
constexpr CellShape kShapes[] = {
    {1, "Polyvertex", 1},      {2, "Polyvertex", 0},       {3, "Polyline", 2},
    {4, "Polyline", 0},        {5, "Triangle", 3},         {7, "Polygon", 0},
    {9, "Quadrilateral", 4},   {10, "Tetrahedron", 4},     {12, "Hexahedron", 8},
    {13, "Wedge", 6},          {14, "Pyramid", 5},         {21, "Edge_3", 3},
    {22, "Triangle_6", 6},     {23, "Quadrilateral_8", 8}, {24, "Tetrahedron_10", 10},
    {25, "Hexahedron_20", 20}, {26, "Wedge_15", 15},       {27, "Pyramid_13", 13}};

CellShape shape_of(const leat_mesh& mesh, hsize_t components) {
  if (mesh.cell_type == 0)
    throw std::runtime_error(
        "XDMF wants the shape of each cell between the points of cells, which would be a second "
        "copy of mixed cells: open /VTKHDF, or write cells of one shape with cells=\"...\"");
  for (CellShape shape : kShapes) {
    if (shape.vtk != mesh.cell_type) continue;
    if (shape.points == 0) shape.points = components;
    return shape;
  }
  throw std::runtime_error("XDMF has no cells of VTK's type " + std::to_string(mesh.cell_type) +
                           ": open /VTKHDF");
}

// Unstructured ones with cells of one shape: a Grid is a block of ours, with point numbers of its
// own. Where a mesh has several blocks, or may have, its Grids are a spatial collection.
class CellsMesh : public Mesh {
 public:
  CellsMesh(const Target& target, std::uint32_t number, LeftOut* left_out)
      : Mesh(target, number, left_out),
        points_(target, vtk::axes_of(target, mesh_)),
        ids_(target, field_of(static_cast<std::uint32_t>(mesh_.connectivity))),
        ids_extents_(extents_in(target.values, ids_.field().path())),
        shape_(shape_of(mesh_, ids_.components())),
        is_collection_(target.run.ranks > 1 || has_several_blocks()),
        arrays_(block_arrays()) {}

  void put(const Output& to, const Step& step, bool inside) override {
    const std::optional<Blocks> blocks = blocks_at(step.row);
    if (is_collection_) return put_collection(to, blocks, step, inside);
    begin_grid(to.xml, name(), step, inside);
    if (blocks && blocks->cells.size() == 1 && blocks->cells[0] > 0)
      put_block(to, *blocks, step.row, 0);
    else
      put_nothing(to.xml);
    to.xml.end();
  }

 private:
  // Of one iteration that has the whole mesh.
  struct Blocks {
    vtk::Elements::Row points, ids;
    std::vector<hsize_t> cells;
  };

  // Of one rank, in some iteration.
  bool has_several_blocks() const {
    const std::string table = block_table_of(target_.values, ids_.field().path());
    return !table.empty() && StoredBlockTable(target_.values, table).has_row_of_several();
  }

  std::optional<Blocks> blocks_at(hsize_t row) {
    Blocks found{points_.at(row), ids_.at(row), {}};
    if (found.points.is_empty() || !found.points.has_blocks_of(found.ids)) return std::nullopt;
    for (const hsize_t count : found.ids.counts) {
      const hsize_t ids = count * ids_.components();
      if (ids % shape_.points != 0) return std::nullopt;
      found.cells.push_back(ids / shape_.points);
    }
    return found;
  }

  static std::string block_name(const Blocks& blocks, std::size_t i) {
    if (i >= blocks.ids.owners.size()) return "block";
    const auto& [rank, number] = blocks.ids.owners[i];
    return "rank " + std::to_string(rank) + (number > 0 ? " block " + std::to_string(number) : "");
  }

  void put_collection(const Output& to, const std::optional<Blocks>& blocks, const Step& step,
                      bool inside) {
    begin_collection(to.xml, name(), step, inside);
    for (std::size_t i = 0; blocks && i < blocks->cells.size(); ++i) {
      if (blocks->cells[i] == 0) continue;
      begin_grid(to.xml, block_name(*blocks, i), step, true);
      put_block(to, *blocks, step.row, i);
      to.xml.end();
    }
    to.xml.end();
  }

  void put_block(const Output& to, const Blocks& blocks, hsize_t row, std::size_t block) {
    put_topology(to, blocks, row, block);
    points_.put(to, blocks.points, row, block, 1);
    for (BlockArray& array : arrays_) {
      const vtk::Elements::Row mine = array.values.at(row);
      if (!mine.has_blocks_of(blocks.points) ||
          mine.counts[block] != (array.is_nodal() ? blocks.points.counts : blocks.cells)[block])
        continue;
      put_attribute(to, array.name, array.is_nodal() ? "Node" : "Cell",
                    elements(array.values, array.extents, mine, row, block, 1),
                    array.values.components());
    }
  }

  void put_topology(const Output& to, const Blocks& blocks, hsize_t row, std::size_t block) const {
    to.xml.begin("Topology", {{"TopologyType", shape_.xdmf},
                              {"NumberOfElements", std::to_string(blocks.cells[block])},
                              {"NodesPerElement", std::to_string(shape_.points)}});
    Slab slab = elements(ids_, ids_extents_, blocks.ids, row, block, 1);
    slab.shape = {blocks.cells[block], shape_.points};
    xdmf::put(to, slab);
    to.xml.end();
  }

  Points points_;
  vtk::Elements ids_;
  Shape ids_extents_;
  CellShape shape_;
  bool is_collection_;
  std::vector<BlockArray> arrays_;
};

// Particles: one Grid with the points of all blocks, which lie one after the other in the file.
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

std::unique_ptr<Mesh> make_cells_mesh(const Target& target, std::uint32_t number,
                                      LeftOut* left_out) {
  return std::make_unique<CellsMesh>(target, number, left_out);
}

std::unique_ptr<Mesh> make_points_mesh(const Target& target, std::uint32_t number,
                                       LeftOut* left_out) {
  return std::make_unique<PointsMesh>(target, number, left_out);
}

}  // namespace leat::hdf5::xdmf

// SPDX-License-Identifier: Apache-2.0
// Unstructured meshes. A part of VTK's is a block of ours, with point numbers of its own.
//
// VTK finds the offsets of a part behind all cells and parts before it: at its first cell plus its
// number (vtkHDFReader::Read). So numbers of parts follow from where the blocks lie, and a mesh
// that changes has a part without cells as the first one: that of iterations without a mesh.
#include <algorithm>
#include <tuple>

#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

namespace leat::hdf5::vtk {
namespace {

constexpr hsize_t kOffsetsAtOnce = 16 * 1024;  // in a chunk

class CellsMesh : public Mesh {
 public:
  using Mesh::Mesh;

  bool is_ready() override {
    for (const std::int32_t variable : made_of()) {
      if (!is_there(variable)) return false;
    }
    for (const std::int32_t variable : made_of()) needed(variable);
    return true;
  }

 protected:
  const char* type() const override { return "UnstructuredGrid"; }

  void make_head() override {
    for (const Field& axis : axes()) points_.emplace_back(target_, axis);
    connectivity_.emplace_back(target_, needed(mesh_.connectivity));
    for (const std::int32_t variable : {mesh_.offsets, mesh_.types}) {
      if (mesh_.cell_type == 0) shapes_.emplace_back(target_, needed(variable));
    }
    for (const std::int32_t variable : made_of()) {
      const leat_variable& described =
          *leat_variable_at(&target_.run, static_cast<std::uint64_t>(variable));
      changes_ = changes_ || described.time_varying != 0;
    }
    link_points(target_.file, path("Points"), points_);
    link_cells();
    point_counts_ = List(target_.file, path("NumberOfPoints"));
    cell_counts_ = List(target_.file, path("NumberOfCells"));
    id_counts_ = List(target_.file, path("NumberOfConnectivityIds"));
    parts_ = List(target_.file, steps_path("NumberOfParts"));
    part_offsets_ = List(target_.file, steps_path("PartOffsets"));
    point_offsets_ = List(target_.file, steps_path("PointOffsets"));
    cell_offsets_ = List(target_.file, steps_path("CellOffsets"), 1);
    id_offsets_ = List(target_.file, steps_path("ConnectivityIdOffsets"), 1);
    if (changes_ && point_counts_.length() == 0) {
      put_part(0, {0, 0, 0});
      if (mesh_.cell_type != 0) own_offsets_.put(0, 0);
    }
  }

  void put_step(hsize_t step, hsize_t row) override {
    const Parts parts = parts_at(row);
    const bool has_cells = !parts.points.is_empty();
    hsize_t part = 0, cell = 0;
    if (has_cells) {
      if (mesh_.cell_type != 0) {
        find_own(parts, &part, &cell);
      } else {
        cell = parts.first_cell;
        part = parts.first_offset - parts.first_cell + (changes_ ? 1 : 0);
      }
      for (std::size_t i = 0; i < parts.cells.size(); ++i)
        put_part(part + i, {parts.points.counts[i], parts.cells[i], parts.ids[i]});
    }
    parts_.put(step, has_cells ? static_cast<std::int64_t>(parts.cells.size()) : 1);
    part_offsets_.put(step, static_cast<std::int64_t>(part));
    point_offsets_.put(step, static_cast<std::int64_t>(has_cells ? parts.points.first : 0));
    cell_offsets_.put(step, static_cast<std::int64_t>(cell));
    id_offsets_.put(step, static_cast<std::int64_t>(has_cells ? parts.first_id : 0));
  }

  std::vector<List*> lists() override {
    return {&point_counts_,  &cell_counts_,  &id_counts_,  &parts_,      &part_offsets_,
            &point_offsets_, &cell_offsets_, &id_offsets_, &own_offsets_};
  }

  std::unique_ptr<Array> array_for(const Field& field, std::string* group) override {
    const bool nodal = field.variable->centering == LEAT_NODAL;
    *group = nodal ? "PointData" : "CellData";
    const auto points_at = [](void* mesh, hsize_t row) {
      return static_cast<CellsMesh*>(mesh)->parts_at(row).points;
    };
    const auto cells_at = [](void* mesh, hsize_t row) {
      Parts parts = static_cast<CellsMesh*>(mesh)->parts_at(row);
      return Elements::Row{parts.first_cell, parts.cells, parts.points.owners};
    };
    if (nodal) return std::make_unique<ElementArray>(target_, field, points_at, this);
    return std::make_unique<ElementArray>(target_, field, cells_at, this);
  }

 private:
  // Of one iteration; nothing where the mesh is not whole.
  struct Parts {
    Elements::Row points;
    std::vector<hsize_t> cells, ids;
    hsize_t first_cell = 0, first_offset = 0, first_id = 0;
  };
  struct Counts {
    hsize_t points, cells, ids;
  };

  std::vector<std::int32_t> made_of() const {
    std::vector<std::int32_t> variables(mesh_.coordinate,
                                        mesh_.coordinate + mesh_.coordinate_count);
    variables.push_back(mesh_.connectivity);
    if (mesh_.cell_type == 0) variables.insert(variables.end(), {mesh_.offsets, mesh_.types});
    return variables;
  }

  Parts parts_at(hsize_t row) {
    Parts found;
    const Elements::Row points = blocks_of(&points_, row), ids = connectivity_[0].at(row);
    if (points.is_empty() || !points.has_blocks_of(ids)) return found;
    found.first_id = ids.first * connectivity_[0].components();
    for (const hsize_t count : ids.counts)
      found.ids.push_back(count * connectivity_[0].components());
    if (mesh_.cell_type == 0 ? mixed_cells(row, points, &found) : cells_of_one_shape(&found)) {
      found.points = points;
      return found;
    }
    if (!told_) say("iterations whose connectivity, offsets and types do not fit are empty");
    told_ = true;
    return {};
  }

  bool mixed_cells(hsize_t row, const Elements::Row& points, Parts* found) {
    const Elements::Row offsets = shapes_[0].at(row), types = shapes_[1].at(row);
    if (!points.has_blocks_of(offsets) || !points.has_blocks_of(types)) return false;
    for (std::size_t i = 0; i < types.counts.size(); ++i) {
      if (offsets.counts[i] != types.counts[i] + 1) return false;
    }
    found->cells = types.counts;
    found->first_cell = types.first;
    found->first_offset = offsets.first;
    return true;
  }

  bool cells_of_one_shape(Parts* found) const {
    const hsize_t points = points_of(mesh_.cell_type, connectivity_[0].components());
    if (points == 0 || found->first_id % points != 0) return false;
    found->first_cell = found->first_id / points;
    for (const hsize_t ids : found->ids) {
      if (ids % points != 0) return false;
      found->cells.push_back(ids / points);
    }
    return true;
  }

  // Points of a cell. Source: vtkCellType.h and "VTK file formats", linear and quadratic cells.
  static hsize_t points_of(std::uint32_t type, hsize_t components) {
    static constexpr std::pair<std::uint32_t, hsize_t> kPoints[] = {
        {1, 1},  {3, 2},  {5, 3},  {8, 4},  {9, 4},  {10, 4},  {11, 8}, {12, 8},
        {13, 6}, {14, 5}, {21, 3}, {22, 6}, {23, 8}, {24, 10}, {25, 20}};
    for (const auto& [known, points] : kPoints) {
      if (known == type) return points;
    }
    return components > 1 ? components : 0;
  }

  // Where the cells of one shape are: with the same ones as in the step before, or new ones.
  void find_own(const Parts& parts, hsize_t* part, hsize_t* cell) {
    const std::vector<hsize_t> key = key_of(parts);
    const auto known = own_.find(key);
    if (known != own_.end()) {
      std::tie(*part, *cell) = known->second;
      return;
    }
    *part = point_counts_.length();
    *cell = own_types_.extents()[0];
    const hsize_t points = points_of(mesh_.cell_type, connectivity_[0].components());
    hsize_t cells = *cell;
    for (std::size_t i = 0; i < parts.cells.size(); ++i) {
      write_own_offsets(cells + *part + i, parts.cells[i], points);
      cells += parts.cells[i];
    }
    own_types_.grow_to({cells});
    own_[key] = {*part, *cell};
  }

  static std::vector<hsize_t> key_of(const Parts& parts) {
    std::vector<hsize_t> key = parts.cells;
    key.insert(key.end(), parts.points.counts.begin(), parts.points.counts.end());
    return key;
  }

  void write_own_offsets(hsize_t at, hsize_t cells, hsize_t points) {
    std::vector<std::int64_t> offsets(cells + 1);
    for (hsize_t i = 0; i <= cells; ++i) offsets[i] = static_cast<std::int64_t>(i * points);
    own_offsets_.put(at, offsets);
  }

  void put_part(hsize_t part, const Counts& counts) {
    point_counts_.put(part, static_cast<std::int64_t>(counts.points));
    cell_counts_.put(part, static_cast<std::int64_t>(counts.cells));
    id_counts_.put(part, static_cast<std::int64_t>(counts.ids));
  }

  void link_cells() {
    const hsize_t ids = connectivity_[0].most() * connectivity_[0].components();
    make_virtual(target_.file, path("Connectivity"), H5T_NATIVE_INT64, {ids},
                 {connectivity_[0].shown({0}, {ids})}, {});
    if (mesh_.cell_type != 0) return make_own_shapes();
    const hsize_t shift = changes_ ? 1 : 0, offsets = shapes_[0].most(), types = shapes_[1].most();
    make_virtual(target_.file, path("Offsets"), H5T_NATIVE_INT64, {offsets + shift},
                 {shapes_[0].shown({shift}, {offsets})}, {});
    make_virtual(target_.file, path("Types"), H5T_NATIVE_UINT8, {types},
                 {shapes_[1].shown({0}, {types})}, {});
  }

  // Types are all fill value, and take no room.
  void make_own_shapes() {
    DatasetPlan plan = growing_list();
    plan.fill = {static_cast<std::uint8_t>(mesh_.cell_type)};
    own_types_ = Dataset(target_.file, path("Types"), H5T_NATIVE_UINT8, plan);
    own_offsets_ = List(target_.file, path("Offsets"), 0, kOffsetsAtOnce);
  }

  std::vector<Elements> points_, connectivity_, shapes_;  // shapes: offsets, types
  bool changes_ = false, told_ = false;
  List point_counts_, cell_counts_, id_counts_;
  List parts_, part_offsets_, point_offsets_, cell_offsets_, id_offsets_;
  Dataset own_types_;
  List own_offsets_;
  std::map<std::vector<hsize_t>, std::pair<hsize_t, hsize_t>> own_;  // part and cell of counts
};

}  // namespace

std::unique_ptr<Mesh> make_cells_mesh(const Target& target, const Host& host,
                                      std::uint32_t number) {
  return std::make_unique<CellsMesh>(target, host, number);
}

}  // namespace leat::hdf5::vtk

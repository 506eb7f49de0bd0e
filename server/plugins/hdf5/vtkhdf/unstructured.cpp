// SPDX-License-Identifier: Apache-2.0
// Unstructured meshes and particles in /VTKHDF.
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

namespace leat::hdf5::vtk {

// Unstructured meshes. A part of VTK's is a block of ours, with point numbers of its own.
//
// VTK finds the offsets of a part behind all cells and parts before it: at its first cell plus its
// number (vtkHDFReader::Read). So numbers of parts follow from where the blocks lie, and a mesh
// that changes has a part without cells as the first one: that of iterations without a mesh.

namespace {

constexpr hsize_t kOffsetsAtOnce = 1024, kTypesAtOnce = 8192;  // in a chunk

// Points of a cell. Source: vtkCellType.h and "VTK file formats", linear and quadratic cells.
hsize_t points_of(std::uint32_t type, hsize_t components) {
  static constexpr std::pair<std::uint32_t, hsize_t> kPoints[] = {
      {1, 1},  {3, 2},  {5, 3},  {8, 4},  {9, 4},  {10, 4},  {11, 8}, {12, 8},
      {13, 6}, {14, 5}, {21, 3}, {22, 6}, {23, 8}, {24, 10}, {25, 20}};
  for (const auto& [known, points] : kPoints) {
    if (known == type) return points;
  }
  return components > 1 ? components : 0;
}

// Types and offsets of cells of one shape, which no variable has. Those of a step are the ones of a
// step before that has as many cells and points in each part, or new ones.
class OwnShapes {
 public:
  // Types are all fill value, and take no room.
  OwnShapes(hid_t file, const std::string& group, std::uint32_t type, hsize_t points)
      : points_(points) {
    DatasetPlan plan = growing_list(0, kTypesAtOnce);
    plan.fill = {static_cast<std::uint8_t>(type)};
    types_ = Dataset(file, group + "Types", H5T_NATIVE_UINT8, plan);
    offsets_ = List(file, group + "Offsets", 0, kOffsetsAtOnce);
  }

  // Of the part without cells.
  void begin() { offsets_.put(0, std::vector<std::int64_t>{0}); }

  // The first part and the first cell of what has so many `cells` and `points`. New ones get parts
  // from number `next` on.
  std::pair<hsize_t, hsize_t> find(const std::vector<hsize_t>& cells,
                                   const std::vector<hsize_t>& points, hsize_t next) {
    const auto known = places_.find({cells, points});
    if (known != places_.end()) return known->second;
    const std::pair<hsize_t, hsize_t> place{next, types_.extents()[0]};
    hsize_t cell = place.second;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::vector<std::int64_t> offsets(cells[i] + 1);
      for (hsize_t j = 0; j <= cells[i]; ++j) offsets[j] = static_cast<std::int64_t>(j * points_);
      offsets_.put(cell + next + i, offsets);
      cell += cells[i];
    }
    types_.grow_to({cell});
    return places_[{cells, points}] = place;
  }

  // As a writer before this one has found it.
  void know(const std::vector<hsize_t>& cells, const std::vector<hsize_t>& points,
            const std::pair<hsize_t, hsize_t>& place) {
    places_.try_emplace({cells, points}, place);
  }

 private:
  hsize_t points_;  // of a cell
  Dataset types_;
  List offsets_;
  std::map<std::pair<std::vector<hsize_t>, std::vector<hsize_t>>, std::pair<hsize_t, hsize_t>>
      places_;  // by counts
};

class CellsMesh : public Mesh {
 public:
  using Mesh::Mesh;

 protected:
  const char* type() const override { return "UnstructuredGrid"; }

  void make_head() override {
    for (const Field& axis : axes_of(target_, mesh_)) points_.emplace_back(target_, axis);
    connectivity_.emplace_back(target_, field_of(mesh_.connectivity));
    if (mesh_.cell_type == 0) {
      for (const std::int32_t variable : {mesh_.offsets, mesh_.types})
        shapes_.emplace_back(target_, field_of(variable));
    }
    for (const std::uint32_t variable : made_of(mesh_))
      changes_ = changes_ || leat_variable_at(&target_.run, variable)->time_varying != 0;
    lists_.try_emplace("Points", list_of_points(target_, points_));
    list_cells();
    point_counts_ = List(target_.file, path("NumberOfPoints"));
    cell_counts_ = List(target_.file, path("NumberOfCells"));
    id_counts_ = List(target_.file, path("NumberOfConnectivityIds"));
    offsets_ = StepOffsets(target_.file, steps_path(""), 1);
    if (own_ && point_counts_.length() > 0) resume_own();
    if (changes_ && point_counts_.length() == 0) {
      put_part(0, {0, 0, 0});
      if (own_) own_->begin();
    }
  }

  void put_step(hsize_t step, hsize_t row) override {
    const Parts parts = parts_at(row);
    if (parts.points.is_empty()) return offsets_.put(step, {});
    StepOffsets::Begin begin{static_cast<std::int64_t>(parts.cells.size()), 0, parts.points.first,
                             parts.first_cell, parts.first_id};
    if (own_) {
      std::tie(begin.part, begin.cell) =
          own_->find(parts.cells, parts.points.counts, point_counts_.length());
    } else {
      begin.part = parts.first_offset - parts.first_cell + (changes_ ? 1 : 0);
    }
    for (std::size_t i = 0; i < parts.cells.size(); ++i)
      put_part(begin.part + i, {parts.points.counts[i], parts.cells[i], parts.ids[i]});
    offsets_.put(step, begin);
    need(parts);
  }

  void flush() override {
    for (List* list : {&point_counts_, &cell_counts_, &id_counts_}) list->flush();
  }

  std::vector<std::pair<const char*, FlatList*>> shown() override {
    std::vector<std::pair<const char*, FlatList*>> all;
    for (auto& [name, list] : lists_) all.emplace_back(name.c_str(), &list);
    return all;
  }

  std::unique_ptr<Array> array_for(const std::vector<Field>& fields, std::string* group) override {
    const bool nodal = fields.front().variable->centering == LEAT_NODAL;
    *group = nodal ? "PointData" : "CellData";
    const auto points_at = [](void* mesh, hsize_t row) {
      return static_cast<CellsMesh*>(mesh)->parts_at(row).points;
    };
    const auto cells_at = [](void* mesh, hsize_t row) {
      Parts parts = static_cast<CellsMesh*>(mesh)->parts_at(row);
      return Elements::Row{parts.first_cell, parts.cells, parts.points.owners};
    };
    if (nodal) return std::make_unique<ElementArray>(target_, fields, points_at, this);
    return std::make_unique<ElementArray>(target_, fields, cells_at, this);
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

  // Steps with as many cells and points go on sharing their parts. The part without cells is none of them.
  void resume_own() {
    const std::vector<std::int64_t> points = point_counts_.all(), cells = cell_counts_.all();
    const auto some = [](const std::vector<std::int64_t>& all, const StepOffsets::Begin& of) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(of.part);
      return std::vector<hsize_t>(from, from + of.parts);
    };
    for (const StepOffsets::Begin& step : offsets_.all()) {
      const hsize_t end = step.part + static_cast<hsize_t>(step.parts);
      const bool is_empty = changes_ && step.part == 0;
      if (is_empty || step.parts < 1 || end > points.size() || end > cells.size()) continue;
      own_->know(some(cells, step), some(points, step), {step.part, step.cell});
    }
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
    if (!reported_) say("iterations whose connectivity, offsets and types do not fit are empty");
    reported_ = true;
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

  void put_part(hsize_t part, const Counts& counts) {
    point_counts_.put(part, static_cast<std::int64_t>(counts.points));
    cell_counts_.put(part, static_cast<std::int64_t>(counts.cells));
    id_counts_.put(part, static_cast<std::int64_t>(counts.ids));
  }

  void need(const Parts& parts) {
    const auto end = [](hsize_t first, const std::vector<hsize_t>& counts) {
      return std::accumulate(counts.begin(), counts.end(), first);
    };
    const hsize_t end_of_cells = end(parts.first_cell, parts.cells);
    lists_.at("Points").need(parts.points.first + parts.points.total());
    lists_.at("Connectivity").need(end(parts.first_id, parts.ids));
    if (own_) return;
    lists_.at("Types").need(end_of_cells);
    lists_.at("Offsets").need(parts.first_offset + end_of_cells - parts.first_cell +
                              parts.cells.size());
  }

  // Elements with their components one behind the other.
  void add_list(const char* name, const Elements& of, std::uint32_t type) {
    FlatSource source = of.source();
    source.elements *= std::exchange(source.components, 1);
    lists_.try_emplace(name, target_, std::vector<FlatSource>{source}, type, 0);
  }

  void list_cells() {
    add_list("Connectivity", connectivity_[0], LEAT_INT64);
    if (mesh_.cell_type != 0) {
      own_.emplace(target_.file, group() + "/", mesh_.cell_type,
                   points_of(mesh_.cell_type, connectivity_[0].components()));
      return;
    }
    add_list("Offsets", shapes_[0], LEAT_INT64);
    add_list("Types", shapes_[1], LEAT_UINT8);
    if (changes_) lists_.at("Offsets").need_in_front(1);
  }

  std::vector<Elements> points_, connectivity_, shapes_;  // shapes: offsets, types
  bool changes_ = false, reported_ = false;
  List point_counts_, cell_counts_, id_counts_;
  std::map<std::string, FlatList> lists_;
  std::optional<OwnShapes> own_;  // of cells of one shape
};

}  // namespace

std::unique_ptr<Mesh> make_cells_mesh(const Target& target, const Host& host,
                                      std::uint32_t number) {
  return std::make_unique<CellsMesh>(target, host, number);
}

// Particles: one part with all points of an iteration, and a vertex for each, so that they are
// seen. The vertices of all iterations are the first ones of one list 0, 1, 2, ...

namespace {

constexpr hsize_t kNumbersAtOnce = 16ull * 1024;  // and in a chunk, which is written once

class PointsMesh : public Mesh {
 public:
  using Mesh::Mesh;

 protected:
  const char* type() const override { return "PolyData"; }

  void make_head() override {
    for (const Field& axis : axes_of(target_, mesh_)) points_.emplace_back(target_, axis);
    list_.emplace(list_of_points(target_, points_));
    counts_ = List(target_.file, path("NumberOfPoints"));
    none_ = List(target_.file, path("Lines/NumberOfCells"));
    none_.grow_to(1);
    offsets_ = StepOffsets(target_.file, steps_path(""), 4);
    make_numbers();
    share("NumberOfPoints", "Vertices", {"NumberOfCells", "NumberOfConnectivityIds"});
    share("Vertices/Connectivity", "Vertices", {"Offsets"});
    for (const char* cells : {"Lines", "Polygons", "Strips"})
      share("Lines/NumberOfCells", cells,
            {"NumberOfCells", "NumberOfConnectivityIds", "Connectivity", "Offsets"});
  }

  void put_step(hsize_t step, hsize_t row) override {
    const Elements::Row points = blocks_of(&points_, row);
    counts_.put(step, static_cast<std::int64_t>(points.total()));
    none_.grow_to(step + 1);
    offsets_.put(step, {1, step, points.first});
    number_to(points.total() + 1);
    list_->need(points.first + points.total());
  }

  void flush() override {
    for (List* list : {&counts_, &none_}) list->flush();
  }
  std::vector<std::pair<const char*, FlatList*>> shown() override { return {{"Points", &*list_}}; }

  std::unique_ptr<Array> array_for(const std::vector<Field>& fields, std::string* group) override {
    *group = "PointData";
    const auto points_at = [](void* mesh, hsize_t row) {
      return blocks_of(&static_cast<PointsMesh*>(mesh)->points_, row);
    };
    return std::make_unique<ElementArray>(target_, fields, points_at, this);
  }

 private:
  void make_numbers() {
    DatasetPlan plan = growing_list();
    plan.chunk = {kNumbersAtOnce};
    plan.compression = compression_from("deflate:1");
    numbers_ = Dataset(target_.file, path("Vertices/Connectivity"), H5T_NATIVE_INT64, plan);
  }

  void number_to(hsize_t count) {
    std::vector<std::int64_t> numbers(kNumbersAtOnce);
    while (numbers_.extents()[0] < count) {
      const hsize_t first = numbers_.extents()[0];
      std::iota(numbers.begin(), numbers.end(), static_cast<std::int64_t>(first));
      numbers_.grow_to({first + kNumbersAtOnce});
      numbers_.write({first}, {kNumbersAtOnce}, numbers.data());
    }
  }

  // The same dataset by other names.
  void share(const std::string& one, const std::string& group,
             const std::vector<std::string>& names) const {
    const Id made = group_at(target_.file, path(group));
    for (const std::string& name : names) {
      const std::string to = path(group + "/" + name);
      if (!is_in(target_.file, to)) link_hard(target_.file, path(one), to);
    }
  }

  std::vector<Elements> points_;
  std::optional<FlatList> list_;
  List counts_, none_;
  Dataset numbers_;
};

}  // namespace

std::unique_ptr<Mesh> make_points_mesh(const Target& target, const Host& host,
                                       std::uint32_t number) {
  return std::make_unique<PointsMesh>(target, host, number);
}

}  // namespace leat::hdf5::vtk

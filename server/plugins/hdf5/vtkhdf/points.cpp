// SPDX-License-Identifier: Apache-2.0
// Particles: one part with all points of an iteration, and a vertex for each, so that they are
// seen. The vertices of all iterations are the first ones of one list 0, 1, 2, ...
#include <numeric>
#include <optional>

#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

namespace leat::hdf5::vtk {
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

  std::unique_ptr<Array> array_for(const Field& field, std::string* group) override {
    *group = "PointData";
    const auto points_at = [](void* mesh, hsize_t row) {
      return blocks_of(&static_cast<PointsMesh*>(mesh)->points_, row);
    };
    return std::make_unique<ElementArray>(target_, field, points_at, this);
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

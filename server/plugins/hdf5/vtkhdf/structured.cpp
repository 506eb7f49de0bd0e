// SPDX-License-Identifier: Apache-2.0
// Rectilinear and curvilinear meshes in /VTKHDF.
#include <algorithm>
#include <functional>
#include <optional>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

namespace leat::hdf5::vtk {

// As cells: VTKHDF had no structured meshes before its version
// 2.7, and what most people have installed reads none. Cells are made once and are compressed;
// points of curvilinear meshes and all arrays are virtual.

namespace {

constexpr hsize_t kAtOnce = 64ull * 1024;  // values, and in a chunk, which is written once

// One array (iteration, z, y, x) as a list of values, or several as one of vectors.
class GridArray : public Array {
 public:
  GridArray(const Target& target, const std::vector<Field>& fields)
      : target_(target),
        fields_(fields),
        values_(product(fields.front().shape)),
        list_(target, sources(), fields.front().variable->type, fields.size() > 1 ? kOfVector : 0,
              fill_of(fields)) {}

  std::string why_invalid(const std::vector<Step>&, hsize_t) override {
    return why_not_as_begun(target_, fields_);
  }

  std::optional<hsize_t> place(hsize_t row) override {
    const hsize_t first = fields_.front().varies ? row * values_ : 0;
    list_.need(first + values_);
    return first;
  }
  bool show(const std::string& path) override { return list_.show(path); }
  void finish(const std::string& path) override { list_.finish(path); }

 private:
  std::vector<FlatSource> sources() const {
    std::vector<FlatSource> all;
    for (const Field& each : fields_)
      all.push_back({each.path(), each.shape, each.varies, values_, 1, all.size()});
    return all;
  }

  Target target_;
  std::vector<Field> fields_;
  hsize_t values_;  // of an iteration
  FlatList list_;
};

// `value`: of number i.
template <class T>
void make_list(hid_t file, const std::string& name, hid_t type, hsize_t count,
               const std::function<T(hsize_t)>& value) {
  const DatasetPlan plan{
      {count}, {false}, {std::min(count, kAtOnce)}, compression_from("deflate:1"), {}};
  Dataset list(file, name, type, plan);
  if (!list.is_new()) return;
  std::vector<T> values(plan.chunk[0]);
  for (hsize_t at = 0; at < count; at += values.size()) {
    const hsize_t some = std::min<hsize_t>(values.size(), count - at);
    for (hsize_t i = 0; i < some; ++i) values[i] = value(at + i);
    list.write({at}, {some}, values.data());
  }
}

class GridMesh : public Mesh {
 public:
  using Mesh::Mesh;

  bool is_ready() override {
    if (!Mesh::is_ready()) return false;
    axes_ = axes_of(target_, mesh_);
    lengths_ = nodes_of(mesh_, axes_);
    for (const Field& axis : axes_) {
      if (axis.varies && mesh_.kind != LEAT_MESH_CURVILINEAR)
        throw std::runtime_error("its coordinate \"" + axis.path() +
                                 "\" varies in time: say time-varying=\"false\"");
    }
    return true;
  }

 protected:
  const char* type() const override { return "UnstructuredGrid"; }

  void make_head() override {
    moved_.emplace(target_, axes_.front());
    for (hsize_t length : lengths_) cells_ *= std::max<hsize_t>(1, length - 1);
    if (mesh_.kind == LEAT_MESH_CURVILINEAR)
      list_points();
    else
      make_points();
    // 64 bits, as in all readers.
    make_cells();
    for (const auto& [name, count] :
         {std::pair<const char*, hsize_t>{"NumberOfPoints", product(lengths_)},
          {"NumberOfCells", cells_},
          {"NumberOfConnectivityIds", cells_ * corners_.size()}}) {
      List counts(target_.file, path(name));
      counts.put(0, static_cast<std::int64_t>(count));
      counts.flush();
    }
    offsets_ = StepOffsets(target_.file, steps_path(""), 1);
  }

  void put_step(hsize_t step, hsize_t row) override {
    const hsize_t first = point_offset(row);
    offsets_.put(step, {1, 0, first});
    if (points_) points_->need(first + product(lengths_));
  }

  std::vector<std::pair<const char*, FlatList*>> shown() override {
    if (!points_) return {};
    return {{"Points", &*points_}};
  }

  std::unique_ptr<Array> array_for(const std::vector<Field>& fields, std::string* group) override {
    Shape between = lengths_;
    for (hsize_t& length : between) --length;
    const Shape& shape = fields.front().shape;
    for (const Field& field : fields) {
      if (field.form != Field::Form::whole)
        throw std::runtime_error("it has many blocks and no global shape");
      if (field.shape != shape)
        throw std::runtime_error("its components have the shapes " + listed(shape) + " and " +
                                 listed(field.shape));
    }
    *group = shape == lengths_ ? "PointData" : "CellData";
    if (shape != lengths_ && shape != between)
      throw std::runtime_error("its shape " + listed(shape) +
                               " is neither that of the coordinates, " + listed(lengths_) +
                               ", nor that of the cells between them");
    return std::make_unique<GridArray>(target_, fields);
  }

 private:
  // A mesh stays where it is till it is moved.
  hsize_t point_offset(hsize_t row) {
    return axes_.front().varies ? moved_->last_upto(row) * product(lengths_) : 0;
  }

  void list_points() {
    std::vector<FlatSource> sources;
    for (const Field& axis : axes_)
      sources.push_back({axis.path(), lengths_, axis.varies, product(lengths_), 1, sources.size()});
    points_.emplace(target_, std::move(sources), are_single(axes_) ? LEAT_FLOAT32 : LEAT_FLOAT64,
                    3);
  }

  std::vector<double> values_of(const Field& field) const {
    const Dataset dataset(target_.values, field.path());
    const Shape& count = dataset.extents();
    std::vector<double> all(product(count));
    read_part(dataset.id(), H5T_NATIVE_DOUBLE, zeros(count), count, all.data(),
              "cannot read " + field.path());
    all.resize(count.back());  // of the first rank, where each has written them
    return all;
  }

  void make_points() {
    std::vector<std::vector<double>> values;
    for (const Field& axis : axes_) values.push_back(values_of(axis));
    values.resize(3, {0.0});
    const hsize_t nx = values[0].size(), ny = values[1].size();
    const hsize_t all = product(lengths_);
    const DatasetPlan plan{
        {all, 3}, {false, false}, {std::min(all, kAtOnce), 3}, compression_from("deflate:1"), {}};
    Dataset points(target_.file, path("Points"), H5T_NATIVE_DOUBLE, plan);
    std::vector<double> some(plan.chunk[0] * 3);
    for (hsize_t at = 0; points.is_new() && at < all; at += plan.chunk[0]) {
      const hsize_t count = std::min(plan.chunk[0], all - at);
      for (hsize_t i = 0; i < count; ++i) {
        const hsize_t point = at + i;
        some[3 * i] = values[0][point % nx];
        some[3 * i + 1] = values[1][point / nx % ny];
        some[3 * i + 2] = values[2][point / nx / ny];
      }
      points.write({at, 0}, {count, 3}, some.data());
    }
  }

  // VTK's order of corners: around the lower face, then the upper. Source: vtkCellType.h,
  // VTK_LINE, VTK_QUAD, VTK_HEXAHEDRON.
  void make_cells() {
    std::vector<hsize_t> strides, counts;  // of dimensions that are a cell thick, fastest first
    hsize_t stride = 1;
    for (auto length = lengths_.rbegin(); length != lengths_.rend(); ++length) {
      if (*length > 1) {
        strides.push_back(stride);
        counts.push_back(*length - 1);
      }
      stride *= *length;
    }
    corners_ = {0};
    for (const hsize_t along : strides) {
      const std::size_t lower = corners_.size();
      for (std::size_t i = 0; i < lower; ++i)
        corners_.push_back(corners_[lower == 2 ? 1 - i : i] + along);
    }
    const hsize_t corners = corners_.size();
    make_list<std::int64_t>(target_.file, path("Connectivity"), H5T_NATIVE_INT64, cells_ * corners,
                            [&](hsize_t i) {
                              hsize_t cell = i / corners, first = 0;
                              for (std::size_t d = 0; d < counts.size(); ++d) {
                                first += cell % counts[d] * strides[d];
                                cell /= counts[d];
                              }
                              return static_cast<std::int64_t>(first + corners_[i % corners]);
                            });
    make_list<std::int64_t>(target_.file, path("Offsets"), H5T_NATIVE_INT64, cells_ + 1,
                            [&](hsize_t i) { return static_cast<std::int64_t>(i * corners); });
    constexpr std::uint8_t kTypes[] = {1, 3, 9, 12};  // vertex, line, quad, hexahedron
    make_list<std::uint8_t>(target_.file, path("Types"), H5T_NATIVE_UINT8, cells_,
                            [&](hsize_t) { return kTypes[strides.size()]; });
  }

  std::vector<Field> axes_;
  std::optional<WrittenRows> moved_;  // of the first axis
  Shape lengths_;  // points in each dimension, as the variables have them: z, y, x
  hsize_t cells_ = 1;
  std::vector<hsize_t> corners_;
  std::optional<FlatList> points_;  // of a curvilinear one
};

}  // namespace

std::unique_ptr<Mesh> make_grid_mesh(const Target& target, const Host& host, std::uint32_t number) {
  return std::make_unique<GridMesh>(target, host, number);
}

}  // namespace leat::hdf5::vtk

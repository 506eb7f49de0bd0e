// SPDX-License-Identifier: Apache-2.0
// Uniform meshes in /VTKHDF, as its ImageData.
#include <algorithm>
#include <optional>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

namespace leat::hdf5::vtk {

namespace {

// The dataset itself: (iteration, z, y, x) is what VTK reads. With a single step it expects no
// iteration, so that one is shown by a virtual dataset till there is a second.
class ImageArray : public Array {
 public:
  ImageArray(const Target& target, const Field& field)
      : target_(target), file_(target.file), field_(field) {}

  std::string why_invalid(const std::vector<Step>&, hsize_t) override {
    return why_not_as_begun(target_, field_);
  }

  std::optional<hsize_t> place(hsize_t row) override { return field_.varies ? row : 0; }
  bool is_indexed_by_step() const override { return field_.varies; }

  void link(const std::string& path, const std::vector<Step>& steps) override {
    if (steps.size() > 1) return show_time(path);
    if (!field_.varies) return link_dataset(path);
    give_name(
        virtual_dataset(file_, path, type(), field_.shape, {one_row(steps.back().row)}, fill()),
        file_, path);
  }

  void show_time(const std::string& path) override {
    if (field_.varies) return link_dataset(path);
    const Shape always = joined(1, field_.shape);
    give_name(virtual_dataset(file_, path, type(), always,
                              {{field_.path(), field_.shape, zeros(always), always}}, fill()),
              file_, path);
  }

 private:
  Id type() const { return type_of(field_.variable->type); }
  std::vector<std::uint8_t> fill() const { return fill_value(field_.variable->type); }

  Shown one_row(hsize_t row) const {
    Shown shown{field_.path(), joined(row + 1, field_.shape), zeros(field_.shape), field_.shape};
    shown.from = joined(row, zeros(field_.shape));
    return shown;
  }

  void link_dataset(const std::string& path) const {
    give_name(open_dataset(file_, field_.path()), file_, path);
  }

  Target target_;
  hid_t file_;
  Field field_;
};

// Components beside each other: (iteration, z, y, x, component).
class ImageVector : public Array {
 public:
  ImageVector(const Target& target, const std::vector<Field>& fields)
      : target_(target), fields_(fields) {}

  std::string why_invalid(const std::vector<Step>&, hsize_t) override {
    return why_not_as_begun(target_, fields_);
  }

  std::optional<hsize_t> place(hsize_t row) override { return varies() ? row : 0; }
  bool is_indexed_by_step() const override { return varies(); }

  void link(const std::string& path, const std::vector<Step>& steps) override {
    if (steps.size() > 1) return show_time(path);
    const Shape& shape = fields_.front().shape;
    make(path, beside(shape), [&](const Field& field, const Shown& place) {
      Shown shown = place;
      shown.source = field.path();
      shown.space = varies() ? joined(steps.back().row + 1, shape) : shape;
      if (varies()) shown.from = joined(steps.back().row, zeros(shape));
      return shown;
    });
  }

  void show_time(const std::string& path) override {
    const Shape& shape = fields_.front().shape;
    if (!varies()) {
      return make(path, joined(1, beside(shape)), [&](const Field& field, const Shown& place) {
        return Shown{field.path(), shape, joined(0, place.start), joined(1, place.count)};
      });
    }
    std::vector<Shown> parts;
    for (const Field& each : fields_)
      parts.push_back({each.path(), shape, at(parts.size()).start, at(parts.size()).count});
    give_name(virtual_rows(target_.file, path, type(), beside(shape), parts, fill_of(fields_)),
              target_.file, path);
  }

 private:
  bool varies() const { return fields_.front().varies; }
  Id type() const { return type_of(fields_.front().variable->type); }
  static Shape beside(Shape shape) {
    shape.push_back(kOfVector);
    return shape;
  }
  // Where a component is in a row.
  Shown at(hsize_t component) const {
    Shown place;
    place.start = zeros(fields_.front().shape);
    place.start.push_back(component);
    place.count = fields_.front().shape;
    place.count.push_back(1);
    return place;
  }

  template <class Show>
  void make(const std::string& path, const Shape& extents, const Show& show) const {
    std::vector<Shown> parts;
    for (const Field& each : fields_) parts.push_back(show(each, at(parts.size())));
    give_name(virtual_dataset(target_.file, path, type(), extents, parts, fill_of(fields_)),
              target_.file, path);
  }

  Target target_;
  std::vector<Field> fields_;
};

class ImageMesh : public Mesh {
 public:
  using Mesh::Mesh;

  bool is_ready() override {
    if (!has_place(mesh_)) return false;
    for (const std::uint32_t i : variables_on(target_.run, mesh_)) {
      const leat_variable& variable = *leat_variable_at(&target_.run, i);
      if (!why_vtk_cannot(variable).empty() || varies_in_shape(variable)) continue;
      const std::optional<Field> field = field_in(target_, i);
      if (cells_.empty() && field && field->form == Field::Form::whole) cells_ = cells_of(*field);
    }
    return !cells_.empty();
  }

 protected:
  const char* type() const override { return "ImageData"; }

  void make_head() override {
    std::vector<std::int64_t> whole(6, 0);
    std::vector<double> origin(3, 0.0), spacing(3, 1.0);
    for (std::uint32_t axis = 0; axis < mesh_.dims; ++axis) {
      whole[2 * axis + 1] = static_cast<std::int64_t>(cells_[mesh_.dims - 1 - axis]);
      origin[axis] = mesh_.origin[axis];
      spacing[axis] = mesh_.spacing[axis];
    }
    const Id object = group_at(target_.file, group());
    if (!is_new()) return take_extents(object);
    set_attribute(object, "WholeExtent", whole);
    set_attribute(object, "Origin", origin);
    set_attribute(object, "Spacing", spacing);
    set_attribute(object, "Direction", std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  }

  void put_step(hsize_t, hsize_t) override {}

  std::unique_ptr<Array> array_for(const std::vector<Field>& fields, std::string* group) override {
    for (const Field& field : fields) {
      std::string why = varies_in_shape(*field.variable) ? "its shape may change" : "";
      if (why.empty() && field.form != Field::Form::whole)
        why = "it has many blocks and no global shape";
      if (why.empty() && cells_of(field) != cells_)
        why = "it has values for " + listed(cells_of(field)) +
              " cells, and others on the mesh for " + listed(cells_);
      if (!why.empty()) throw std::runtime_error(why);
    }
    *group = fields.front().variable->centering == LEAT_NODAL ? "PointData" : "CellData";
    if (fields.size() > 1) return std::make_unique<ImageVector>(target_, fields);
    return std::make_unique<ImageArray>(target_, fields.front());
  }

 private:
  // In each dimension; nodes are one more. None when it is less than a cell thick.
  Shape cells_of(const Field& field) const {
    Shape cells = field.shape;
    const hsize_t fewer = field.variable->centering == LEAT_NODAL ? 1 : 0;
    if (cells.size() != mesh_.dims ||
        std::any_of(cells.begin(), cells.end(), [&](hsize_t count) { return count <= fewer; }))
      return {};
    for (hsize_t& count : cells) count -= fewer;
    return cells;
  }

  void take_extents(hid_t group) {
    std::vector<double> whole = numbers_attribute(group, "WholeExtent");
    whole.resize(6);
    for (std::uint32_t axis = 0; axis < mesh_.dims; ++axis)
      cells_[mesh_.dims - 1 - axis] = static_cast<hsize_t>(whole[2 * axis + 1]);
  }

  Shape cells_;
};

}  // namespace

std::unique_ptr<Mesh> make_image_mesh(const Target& target, const Host& host,
                                      std::uint32_t number) {
  return std::make_unique<ImageMesh>(target, host, number);
}

}  // namespace leat::hdf5::vtk

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/field.hpp"

#include <algorithm>
#include <numeric>

#include "server/plugins/hdf5/conventions/mesh_axes.hpp"
#include "server/plugins/hdf5/conventions/stored_tables.hpp"

namespace leat::hdf5::vtk {
namespace {

constexpr hsize_t kMostRaggedElements = hsize_t{1} << 40;

// As DimensionScales::take_name() gave it to the writer.
std::string name_beside(const leat_run& run, const std::string& wished) {
  std::string name = wished;
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    if (leat_variable_at(&run, i)->name != name) continue;
    name += "_";
    i = static_cast<std::uint64_t>(-1);
  }
  return name;
}

std::string flat(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

std::string array_name(const leat_run& run, std::uint32_t number) {
  std::string name = flat(leat_variable_at(&run, number)->name);
  for (std::uint32_t i = 0; i < run.variable_count; ++i) {
    const std::string other = leat_variable_at(&run, i)->name;
    const bool is_taken = i < number ? flat(other) == name : other == name;
    if (is_taken && i != number) name += "_";
  }
  return name;
}

std::vector<std::uint32_t> variables_on(const leat_run& run, const leat_mesh& mesh) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < run.variable_count; ++i) {
    if (leat_variable_mesh(&run, leat_variable_at(&run, i)) == &mesh) found.push_back(i);
  }
  return found;
}

std::vector<std::uint32_t> made_of(const leat_mesh& mesh) {
  std::vector<std::uint32_t> all;
  if (mesh.kind == LEAT_MESH_UNIFORM) return all;
  all.assign(mesh.coordinate, mesh.coordinate + mesh.coordinate_count);
  if (mesh.kind != LEAT_MESH_UNSTRUCTURED) return all;
  for (const std::int32_t one : {mesh.connectivity, mesh.offsets, mesh.types}) {
    if (one >= 0) all.push_back(static_cast<std::uint32_t>(one));
  }
  return all;
}

bool is_whole(const Target& target, const leat_mesh& mesh, const WhyNot& why_not) {
  for (const std::uint32_t one : made_of(mesh)) {
    if (!is_dataset(target.file, leat_variable_at(&target.run, one)->name)) return false;
  }
  for (const std::uint32_t one : made_of(mesh)) {
    const leat_variable& variable = *leat_variable_at(&target.run, one);
    const std::string why = why_not(variable);
    if (!why.empty())
      throw std::runtime_error("\"" + std::string(variable.name) +
                               "\", of which it is made: " + why);
  }
  return true;
}

std::vector<Field> axes_of(const Target& target, const leat_mesh& mesh) {
  std::vector<Field> fields;
  for (std::uint32_t axis = 0; axis < mesh.coordinate_count; ++axis)
    fields.push_back(field_in(target, static_cast<std::uint32_t>(mesh.coordinate[axis])).value());
  return fields;
}

bool are_single(const std::vector<Field>& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const Field& axis) { return axis.variable->type == LEAT_FLOAT32; });
}

Shape nodes_of(const leat_mesh& mesh, const std::vector<Field>& axes) {
  Shape nodes;
  for (const Field& axis : axes) {
    const bool curvilinear = mesh.kind == LEAT_MESH_CURVILINEAR;
    if (axis.form == Field::Form::ragged || axis.shape.empty() ||
        (curvilinear && axis.form == Field::Form::slots))
      throw std::runtime_error("its coordinate \"" + axis.path() + "\" is in many pieces");
    if (curvilinear && !nodes.empty() && axis.shape != nodes)
      throw std::runtime_error("its coordinates have different shapes");
    if (curvilinear)
      nodes = axis.shape;
    else
      nodes.insert(nodes.begin(), axis.shape.back());
  }
  return nodes;
}

std::string why_vtk_cannot(const leat_variable& variable) {
  if (variable.type == LEAT_COMPLEX64 || variable.type == LEAT_COMPLEX128)
    return "VTK has no complex numbers";
  if (variable.type == LEAT_CHAR) return "it is text";
  if (!variable.has_global && varies_in_shape(variable, 1))
    return "each of its blocks has a shape of its own";
  return "";
}

std::optional<Field> field_in(const Target& target, std::uint32_t number) {
  const leat_variable& variable = *leat_variable_at(&target.run, number);
  if (!is_dataset(target.file, variable.name)) return std::nullopt;
  Field field;
  field.variable = &variable;
  field.varies = variable.time_varying != 0;
  field.shape = extents_in(target.values, variable.name);
  const bool ragged = !variable.has_global && varies_in_shape(variable);
  if (ragged || field.varies) field.shape.erase(field.shape.begin());
  if (ragged) {
    field.form = Field::Form::ragged;
  } else if (field.shape.size() > variable.dims) {
    field.form = Field::Form::slots;
  }
  return field;
}

WrittenRows::WrittenRows(const Target& target, const Field& field)
    : target_(target),
      counted_(field.form == Field::Form::ragged ? name_beside(target.run, field.path() + "_count")
                                                 : field.path()),
      variable_(field.path()),
      varies_(field.varies) {}

// The table is made when it has something to say, with what was before.
bool WrittenRows::at(hsize_t row) {
  if (!varies_ || row < all_upto_) return true;
  if (!table_.exists()) {
    const std::string name = table_of(target_.values, variable_, "_written");
    if (!name.empty()) table_ = RowTable(target_.values, name, true);
  }
  if (!table_.exists()) {
    all_upto_ = extents_in(target_.values, counted_)[0];
    return row < all_upto_;
  }
  const std::vector<std::int64_t> flag = table_.row(row);
  return !flag.empty() && flag[0] != 0;
}

hsize_t WrittenRows::last_upto(hsize_t row) {
  for (; asked_ <= row; ++asked_) {
    if (at(asked_)) last_ = asked_;
  }
  return last_;
}

void RowsOfAny::watch(const Target& target, const Field& field) {
  if (field.varies) {
    varying_.emplace_back(target, field);
    return;
  }
  once_.insert(first_row(open_dataset(target.values, field.path())));
}

bool RowsOfAny::at(hsize_t row) {
  return once_.count(row) > 0 || std::any_of(varying_.begin(), varying_.end(),
                                             [row](WrittenRows& rows) { return rows.at(row); });
}

hsize_t Elements::Row::total() const {
  return std::accumulate(counts.begin(), counts.end(), hsize_t{0});
}

bool Elements::Row::has_blocks_of(const Row& other) const {
  if (counts.size() != other.counts.size()) return false;
  return owners.empty() || other.owners.empty() || owners == other.owners;
}

Elements::Elements(const Target& target, Field field)
    : target_(target), field_(std::move(field)), written_(target, field_) {}

hsize_t Elements::components() const {
  const std::size_t before = field_.form == Field::Form::ragged  ? 0
                             : field_.form == Field::Form::slots ? 2
                                                                 : 1;
  return product(behind(field_.shape, before));
}

hsize_t Elements::most() const {
  if (field_.form == Field::Form::ragged) return kMostRaggedElements;
  const hsize_t once = product(field_.shape) / components();
  return field_.varies ? most_rows(product(field_.shape)) * once : once;
}

Shown Elements::shown(const Shape& start, const Shape& count) const {
  Shape space = field_.shape;
  if (field_.form == Field::Form::ragged) {
    space = joined(kMostRaggedElements, field_.shape);
  } else if (field_.varies) {
    space = joined(most_rows(product(field_.shape)), field_.shape);
  }
  return {field_.path(), space, start, count};
}

Elements::Row Elements::at(hsize_t row) {
  if (field_.form == Field::Form::ragged) return at_ragged(row);
  if (!written_.at(row)) return {};
  if (field_.form == Field::Form::slots) return at_slots(row);
  const hsize_t count = field_.shape.empty() ? 1 : field_.shape[0];
  return {field_.varies ? row * count : 0, {count}, {}};
}

Elements::Row Elements::at_ragged(hsize_t row) {
  if (!field_.varies) row = 0;
  if (starts_.empty()) starts_.push_back(0);
  const auto counts_of = [&](hsize_t r) { return table("_count", r); };
  while (starts_.size() <= row) {
    const std::vector<std::int64_t> counts = counts_of(starts_.size() - 1);
    starts_.push_back(starts_.back() + static_cast<hsize_t>(std::accumulate(
                                           counts.begin(), counts.end(), std::int64_t{0})));
  }
  Row found;
  found.first = starts_[row];
  const std::vector<std::int64_t> counts = counts_of(row), ranks = table("_rank", row),
                                  numbers = table("_block", row);
  for (std::size_t slot = 0; slot < counts.size(); ++slot) {
    if (slot >= ranks.size() || slot >= numbers.size() || ranks[slot] < 0) continue;
    found.counts.push_back(static_cast<hsize_t>(counts[slot]));
    found.owners.emplace_back(ranks[slot], numbers[slot]);
  }
  return found;
}

Elements::Row Elements::at_slots(hsize_t row) {
  Row found;
  const hsize_t slots = field_.shape[0], count = field_.shape.size() > 1 ? field_.shape[1] : 1;
  const std::vector<std::int64_t> ranks = table("_rank", row), numbers = table("_block", row);
  for (std::size_t slot = 0; slot < ranks.size() && slot < numbers.size(); ++slot) {
    if (ranks[slot] < 0) continue;
    found.counts.push_back(count);
    found.owners.emplace_back(ranks[slot], numbers[slot]);
  }
  if (found.counts.size() != slots || !slots_are_full(row, found.counts.size())) return {};
  found.first = field_.varies ? row * slots * count : 0;
  return found;
}

// Scalars have no extents.
bool Elements::slots_are_full(hsize_t row, std::size_t used) {
  const std::vector<std::int64_t> extents = table("_extent", row);
  const std::size_t dims = field_.variable->dims;
  for (std::size_t i = 0; i < extents.size() && i < used * dims; ++i) {
    if (static_cast<hsize_t>(extents[i]) != field_.shape[1 + i % dims]) return false;
  }
  return true;
}

// One row of it, which is none when it is shorter.
std::vector<std::int64_t> Elements::table(const char* suffix, hsize_t row) {
  auto known = tables_.find(suffix);
  if (known == tables_.end()) {
    const std::string name = name_beside(target_.run, field_.path() + suffix);
    known = tables_.emplace(suffix, RowTable(target_.values, name, field_.varies)).first;
  }
  return known->second.row(row);
}

}  // namespace leat::hdf5::vtk

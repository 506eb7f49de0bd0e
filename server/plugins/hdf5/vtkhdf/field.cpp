// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/field.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5::vtk {
namespace {

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

std::string array_name(const leat_run& run, const std::string& vector) {
  std::string name = flat(vector);
  for (std::uint32_t i = 0; i < run.variable_count; ++i) {
    if (array_name(run, i) == name) name += "_";
  }
  return name;
}

std::vector<Vector> vectors_on(const leat_run& run, const leat_mesh& mesh) {
  constexpr std::size_t kMost = 3;
  std::map<std::string, std::map<std::size_t, std::uint32_t>> found;
  for (const std::uint32_t each : variables_on(run, mesh)) {
    const std::string text = leat_variable_at(&run, each)->vector;
    const std::size_t bracket = text.rfind('[');
    if (bracket == std::string::npos || bracket + 1 >= text.size()) continue;
    const auto number = static_cast<std::size_t>(text[bracket + 1] - '0');
    if (number < kMost) found[text.substr(0, bracket)][number] = each;
  }
  std::vector<Vector> vectors;
  for (const auto& [name, components] : found) {
    if (components.size() < 2 || components.rbegin()->first != components.size() - 1) continue;
    vectors.push_back({name, {}});
    for (const auto& [number, variable] : components) vectors.back().components.push_back(variable);
  }
  return vectors;
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
        (curvilinear && axis.form == Field::Form::blocks))
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

std::string why_no_array(const leat_variable& variable) {
  if (variable.type == LEAT_COMPLEX64 || variable.type == LEAT_COMPLEX128)
    return "VTK has no complex numbers";
  if (variable.type == LEAT_CHAR) return "it is text";
  return "";
}

std::string why_vtk_cannot(const leat_variable& variable) {
  const std::string why = why_no_array(variable);
  if (!why.empty()) return why;
  if (!variable.has_global && varies_in_shape(variable, 1))
    return "each of its blocks has a shape of its own";
  if (stored_as(variable).is_packed())
    return "it is stored as whole numbers (scale=\"...\"), of which VTK makes no values";
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
  if (ragged)
    field.form = Field::Form::ragged;
  else if (!block_table_of(target.values, variable.name).empty())
    field.form = Field::Form::blocks;
  if (field.form != Field::Form::whole || field.varies) field.shape.erase(field.shape.begin());
  return field;
}

std::string why_not_as_begun(const Target& target, const std::vector<Field>& fields) {
  std::string why;
  for (const Field& each : fields) {
    if (why.empty()) why = why_not_as_begun(target, each);
  }
  return why;
}

std::string why_not_as_begun(const Target& target, const Field& field) {
  if (!field.variable->has_global && !block_table_of(target.values, field.path()).empty())
    return "it has many blocks now, and no global shape";
  const Shape now = extents_in(target.values, field.path());
  return (field.varies ? behind(now) : now) == field.shape ? "" : "its shape has changed";
}

WrittenRows::WrittenRows(const Target& target, const Field& field)
    : target_(target), variable_(field.path()), varies_(field.varies) {}

// The table is made when it has something to say, with what was before.
bool WrittenRows::at(hsize_t row) {
  if (!varies_ || row < all_upto_) return true;
  if (!table_.exists()) table_ = RowTable(target_.values, variable_, "_written");
  if (!table_.exists()) {
    const std::string blocks = block_table_of(target_.values, variable_);
    all_upto_ = blocks.empty() ? extents_in(target_.values, variable_)[0]
                               : target_.tables->of(target_.values, blocks).rows();
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
    : target_(target), field_(std::move(field)), written_(target, field_) {
  if (field_.form != Field::Form::whole)
    open_records(block_table_of(target_.values, field_.path()));
}

void Elements::look_for_blocks() {
  if (records_ || field_.variable->has_global) return;
  const std::string table = block_table_of(target_.values, field_.path());
  if (table.empty()) return;
  field_.form = Field::Form::blocks;
  open_records(table);
}

void Elements::open_records(const std::string& table) {
  records_ = std::make_shared<BlockRecords>(target_.values, field_.path(),
                                            target_.tables->of(target_.values, table));
}

hsize_t Elements::components() const {
  return product(behind(field_.shape, field_.form == Field::Form::ragged ? 0 : 1));
}

FlatSource Elements::source(hsize_t column) const {
  const bool is_ragged = field_.form == Field::Form::ragged;
  return {field_.path(),
          field_.shape,
          field_.form != Field::Form::whole || field_.varies,
          is_ragged ? 1 : in_block(),
          components(),
          column};
}

Elements::Row Elements::at(hsize_t row) {
  look_for_blocks();
  if (records_)
    return field_.form == Field::Form::ragged || written_.at(row) ? at_blocks(row) : Row{};
  if (!written_.at(row)) return {};
  return {field_.varies ? row * in_block() : 0, {in_block()}, {}};
}

Elements::Row Elements::at_blocks(hsize_t row) {
  Row found;
  const hsize_t each = field_.form == Field::Form::blocks ? in_block() : 1;
  for (const StoredBlock& block : records_->row(field_.varies ? row : 0)) {
    const hsize_t first = block.first * each, count = block.count * each;
    if (found.is_empty()) found.first = first;
    if (!block.fills_place || first != found.first + found.total()) return {};
    found.counts.push_back(count);
    found.owners.emplace_back(block.owner.rank, block.owner.number);
  }
  return found;
}

}  // namespace leat::hdf5::vtk

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/patches.hpp"

#include <map>

namespace leat::hdf5::vtk {

namespace {

StoredBlockTable& table_of_blocks(const Target& target, const Field& field) {
  return target.tables->of(target.values, block_table_of(target.values, field.path()));
}

}  // namespace

PatchValues::PatchValues(const Target& target, const Field& field)
    : target_(target),
      field_(field),
      records_(target.values, field.path(), table_of_blocks(target, field)) {
  if (!is_list()) return;
  const std::string extents = table_of(target.values, field.path(), "_extent");
  if (!extents.empty()) extents_ = RowTable(target.values, extents, true);
}

bool PatchValues::fills_places() const {
  if (field_.form == Field::Form::ragged) return true;
  return table_of(target_.values, field_.path(), "_extent").empty() &&
         behind(extents()) == field_.shape;
}

std::vector<PatchValues::Block> PatchValues::at(hsize_t row) {
  const hsize_t cells = product(field_.shape);
  std::vector<Block> found;
  if (field_.form == Field::Form::blocks) {
    const StoredBlockTable::Range range = records_.table().row(row);
    for (hsize_t i = range.first; cells > 0 && i < range.first + range.count; ++i)
      found.push_back({i, i * cells, field_.shape});
    return found;
  }
  for (const StoredBlock& block : records_.row(row)) {
    Shape extents = joined(block.count, field_.shape);
    if (extents_.exists()) {
      const std::vector<std::int64_t> own = extents_.row(block.record);
      extents.assign(own.begin(), own.end());
    }
    if (product(extents) > 0) found.push_back({block.record, block.first * cells, extents});
  }
  return found;
}

std::optional<Field> Patches::patched(std::uint32_t variable) const {
  const std::optional<Field> field = field_in(target_, variable);
  if (!field || field->form == Field::Form::whole) return std::nullopt;
  const std::string table = block_table_of(target_.values, field->path());
  return table_of(target_.values, table, kLevelSuffix).empty() ? std::nullopt : field;
}

bool Patches::is_there() const {
  for (const std::uint32_t variable : variables_on(target_.run, mesh_)) {
    if (patched(variable)) return true;
  }
  return false;
}

void Patches::look_for_variables() {
  for (const std::uint32_t variable : variables_on(target_.run, mesh_)) {
    if (known_.count(variable) > 0) continue;
    const std::optional<Field> field = patched(variable);
    if (!field) continue;
    if (known_.empty()) table_ = &table_of_blocks(target_, *field);
    known_.insert(variable);
    values_.emplace_back(target_, *field);
  }
}

// Those who were there first say what a patch is like: what is shown of it by then does not change.
std::vector<Patch> Patches::at(hsize_t row) {
  look_for_variables();
  std::vector<Patch> found;
  if (known_.empty()) return found;
  std::map<hsize_t, Shape> extents;
  for (PatchValues& values : values_) {
    for (PatchValues::Block& block : values.at(row))
      extents.emplace(block.record, std::move(block.extents));
  }
  const StoredBlockTable::Range range = table_->row(row);
  const std::vector<BlockEntry> entries = table_->entries(range);
  for (const auto& [record, shape] : extents) {
    if (record < range.first || record - range.first >= entries.size()) continue;
    const BlockEntry& entry = entries[record - range.first];
    if (entry.level < 0 || entry.low.size() != shape.size()) continue;
    found.push_back({static_cast<std::size_t>(entry.level), entry.low, shape});
  }
  return found;
}

}  // namespace leat::hdf5::vtk

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/amr_boxes.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "server/plugins/hdf5/datasets/dataset.hpp"

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
  if (is_list()) extents_ = RowTable(target.values, field.path(), "_extent");
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

namespace {

constexpr hsize_t kBoxNumbers = 6;

// Cells of a patch: x runs along the last dimension of a layout, and comes first in a box.
std::vector<std::int64_t> box_of(const Patch& patch) {
  std::vector<std::int64_t> box(kBoxNumbers, 0);
  const std::size_t dims = patch.low.size();
  for (std::size_t axis = 0; axis < std::min<std::size_t>(dims, 3); ++axis) {
    const std::int64_t low = patch.low[dims - 1 - axis];
    std::int64_t high = 0;
    const auto extent = static_cast<std::int64_t>(patch.extents[dims - 1 - axis]);
    using Int = std::numeric_limits<std::int32_t>;
    if (__builtin_add_overflow(low, extent - 1, &high) || low < Int::min() || high > Int::max())
      throw std::runtime_error("a block lies at " + listed(patch.low) + " in level " +
                               std::to_string(patch.level) +
                               ", and VTK has 32 bits for places of cells");
    box[2 * axis] = low;
    box[2 * axis + 1] = high;
  }
  return box;
}

// Stands for a level between others, or behind them, that has no patch: the cells into which the first
// cell of `coarser` is divided.
Patch refined_cell(const Patch& coarser, std::int64_t ratio) {
  Patch patch{coarser.level + 1, coarser.low,
              Shape(coarser.low.size(), static_cast<hsize_t>(ratio))};
  for (std::int64_t& place : patch.low) {
    if (__builtin_mul_overflow(place, ratio, &place))
      throw std::runtime_error("a block lies too far off for the finer levels");
  }
  return patch;
}

// The same for a level in front of `finer`: the cell that the first one is a part of.
Patch coarse_cell(const Patch& finer, std::size_t level, std::int64_t ratio) {
  Patch patch{level, finer.low, Shape(finer.low.size(), 1)};
  for (std::int64_t& place : patch.low) {
    for (std::size_t i = level; i < finer.level; ++i)
      place = place / ratio - (place % ratio < 0 ? 1 : 0);
  }
  return patch;
}

std::vector<std::int64_t> boxes_of(const std::vector<Patch>& patches) {
  std::vector<std::int64_t> numbers;
  for (const Patch& patch : patches) {
    const std::vector<std::int64_t> box = box_of(patch);
    numbers.insert(numbers.end(), box.begin(), box.end());
  }
  return numbers;
}

}  // namespace

AmrBoxes::AmrBoxes(hid_t file, std::string group, const leat_mesh& mesh)
    : file_(file), group_(std::move(group)), mesh_(mesh) {
  DatasetPlan plan{{0, kBoxNumbers}, {true, false}, {}, {}, {}};
  plan.chunk = {records_in_chunk(kBoxNumbers * sizeof(std::int32_t), kStepsAtOnce, true),
                kBoxNumbers};
  data_ = Dataset(file_, group_ + "/Steps/leat_boxes", H5T_NATIVE_INT32, plan);
  while (is_in(file_, steps_of(levels()))) open_lists();
  for (const Level& level : levels_) {
    for (std::size_t step = 0; step < level.count.size(); ++step)
      rows_ = std::max(rows_, level.first[step] + level.count[step]);
  }
}

void AmrBoxes::expect_room(std::size_t levels, const std::vector<Patch>& patches) const {
  for (const Patch& patch : patches) box_of(patch);
  for (std::size_t i = 0; i < patches.size(); ++i) {
    const std::size_t end = i + 1 < patches.size() ? patches[i + 1].level : levels;
    if (patches[i].level < end) expect_refined(patches[i], end);
  }
  for (hsize_t step = 0; step < steps() && levels > levels_.size(); ++step) {
    const std::vector<Patch> last = patches_at(step, levels_.size() - 1);
    if (!last.empty()) expect_refined(last.front(), levels);
  }
}

void AmrBoxes::add_level() {
  for (const char* kind : {"CellData", "FieldData"})
    group_at(file_, group_of(levels()) + "/" + kind);
  open_lists();
  for (hsize_t step = 0; levels() > 1 && step < levels_[0].count.size(); ++step)
    put(step, levels() - 1, {}, at(step));
}

void AmrBoxes::put(hsize_t step, const std::vector<Patch>& patches) {
  auto from = patches.begin();
  for (std::size_t level = 0; level < levels(); ++level) {
    const auto to = std::find_if(from, patches.end(),
                                 [level](const Patch& patch) { return patch.level > level; });
    put(step, level, {from, to}, patches);
    from = to;
  }
}

void AmrBoxes::show(hsize_t steps) {
  for (Level& level : levels_) {
    level.counts.flush();
    level.firsts.flush();
    level.stand_ins.flush();
  }
  for (std::size_t level = 0; level < levels(); ++level) {
    const std::string name = group_of(level) + "/AMRBox";
    if (is_in(file_, name)) {
      if (steps > 1 && address_of(open_dataset(file_, name)) == address_of(data_.id())) continue;
      check(H5Ldelete(file_, name.c_str(), H5P_DEFAULT), "cannot replace " + name);
    }
    if (steps > 1) {
      link_hard(file_, data_.name(), name);
      continue;
    }
    const std::vector<std::int64_t> numbers = numbers_at(0, level);
    const Shape extents{numbers.size() / kBoxNumbers, kBoxNumbers};
    Dataset alone(file_, name, H5T_NATIVE_INT32, {extents, {false, false}, {}, {}, {}});
    if (!numbers.empty()) write_numbers(alone, {0, 0}, extents, numbers);
  }
}

std::vector<Patch> AmrBoxes::at(hsize_t step) const {
  std::vector<Patch> found;
  for (std::size_t level = 0; level < levels(); ++level) {
    if (stands_in(step, level)) continue;
    for (Patch& patch : patches_at(step, level)) found.push_back(std::move(patch));
  }
  return found;
}

hsize_t AmrBoxes::cells_of_stand_in(hsize_t step, std::size_t level) const {
  const std::vector<Patch> one = patches_at(step, level);
  return one.empty() ? 0 : product(one.front().extents);
}

void AmrBoxes::open_lists() {
  Level lists;
  lists.counts = List(file_, steps_of(levels()) + "/NumberOfAMRBox");
  lists.firsts = List(file_, steps_of(levels()) + "/AMRBoxOffset");
  lists.stand_ins = List(file_, steps_of(levels()) + "/leat_stands_in");
  lists.count = lists.counts.all();
  lists.first = lists.firsts.all();
  lists.stand_in = lists.stand_ins.all();
  levels_.push_back(std::move(lists));
}

// `all`: of the step, in case that there is none of this level.
void AmrBoxes::put(hsize_t step, std::size_t number, std::vector<Patch> patches,
                   const std::vector<Patch>& all) {
  const bool stands_in = patches.empty() && !all.empty();
  if (stands_in) patches = {stand_in_for(step, number, all.front())};
  Level& level = levels_[number];
  const auto rows = static_cast<hsize_t>(rows_);
  data_.grow_to({rows + patches.size(), kBoxNumbers});
  write_numbers(data_, {rows, 0}, {patches.size(), kBoxNumbers}, boxes_of(patches));
  const auto note = [step](List* list, std::vector<std::int64_t>* numbers, std::int64_t value) {
    numbers->resize(step, 0);
    numbers->push_back(value);
    list->put(step, value);
  };
  note(&level.counts, &level.count, static_cast<std::int64_t>(patches.size()));
  note(&level.firsts, &level.first, patches.empty() ? 0 : rows_);
  note(&level.stand_ins, &level.stand_in, stands_in ? 1 : 0);
  rows_ += static_cast<std::int64_t>(patches.size());
}

// In the levels before `end`.
void AmrBoxes::expect_refined(Patch patch, std::size_t end) const {
  while (patch.level + 1 < end) {
    patch = refined_cell(patch, mesh_.ratio);
    box_of(patch);
  }
}

Patch AmrBoxes::stand_in_for(hsize_t step, std::size_t level, const Patch& coarsest) const {
  if (level < coarsest.level) return coarse_cell(coarsest, level, mesh_.ratio);
  return refined_cell(patches_at(step, level - 1).front(), mesh_.ratio);
}

std::vector<std::int64_t> AmrBoxes::numbers_at(hsize_t step, std::size_t level) const {
  if (step >= levels_[level].count.size()) return {};
  return read_numbers(data_, {static_cast<hsize_t>(levels_[level].first[step]), 0},
                      {static_cast<hsize_t>(levels_[level].count[step]), kBoxNumbers});
}

std::vector<Patch> AmrBoxes::patches_at(hsize_t step, std::size_t level) const {
  const std::vector<std::int64_t> numbers = numbers_at(step, level);
  std::vector<Patch> found;
  for (std::size_t i = 0; i < numbers.size(); i += kBoxNumbers)
    found.push_back(patch_of(level, numbers.data() + i));
  return found;
}

Patch AmrBoxes::patch_of(std::size_t level, const std::int64_t* box) const {
  Patch patch{level, {}, {}};
  for (std::size_t axis = mesh_.dims; axis-- > 0;) {
    patch.low.push_back(box[2 * axis]);
    patch.extents.push_back(static_cast<hsize_t>(box[2 * axis + 1] - box[2 * axis] + 1));
  }
  return patch;
}

}  // namespace leat::hdf5::vtk

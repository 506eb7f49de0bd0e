// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/block_tables.hpp"

#include <algorithm>
#include <stdexcept>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/table_attributes.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kChunkBytes = 64ull * 1024;

struct MergedRecord {
  BlockEntry entry;
  std::size_t part;
  hsize_t record;
};

std::vector<std::string> tables_of(const std::vector<Part>& parts, const ViewedVariable& variable) {
  std::vector<std::string> names(parts.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (!variable.in_part[part].is_open()) continue;
    names[part] = fixed_attribute(variable.in_part[part], kBlockTable);
    if (names[part].empty())
      throw std::runtime_error(parts[part].path + " was written by a Leat that stored \"" +
                               variable.name +
                               "\" in another form: make the view with that version");
  }
  return names;
}

// What the levels of a part's table are; none where it is not of an amr mesh.
std::optional<Levels> levels_in(hid_t file, const std::string& table) {
  const std::string name = table_of(file, table, kLevelSuffix);
  return name.empty() ? std::nullopt : std::optional<Levels>(open_dataset(file, name));
}

// As the store says it: the amr mesh, or names of the dimensions.
std::string shape_of(const std::vector<Part>& parts, const std::vector<std::string>& tables,
                     const ViewedVariable& variable) {
  if (const auto levels = levels_in(parts[variable.first].file, tables[variable.first]))
    return "amr " + levels->mesh;
  const std::size_t dims = extents_of(variable.like()).size();
  std::string shape = variable.layout + ":";
  const std::size_t own = variable.layout == "varying" ? dims : dims - 1;
  for (const std::string& name : own_dimensions(variable, own)) shape += name + ",";
  return shape;
}

}  // namespace

Dataset write_table(const View& view, const std::string& name,
                    const std::vector<std::int64_t>& numbers, const Shape& extents,
                    std::int64_t largest) {
  for (const std::int64_t number : numbers)
    largest = std::max(largest, number < 0 ? -(number + 1) : number);
  DatasetPlan plan{extents, std::vector<bool>(extents.size(), true), extents, {}, {}};
  for (hsize_t& length : plan.chunk) length = std::max<hsize_t>(1, length);
  const Id type = number_type(view.file, name, largest);
  const std::uint64_t row = product(behind(plan.chunk)) * H5Tget_size(type);
  plan.chunk[0] = std::clamp<hsize_t>(kChunkBytes / row, 1, plan.chunk[0]);
  if (numbers.size() * H5Tget_size(type) > kChunkBytes)
    plan.compression = compression_from("deflate:1");
  plan.fill = number_bytes(type, -1);
  Dataset made(view.file, name, type, plan);
  write_numbers(made, zeros(extents), extents, numbers);
  return made;
}

MergedBlocks::MergedBlocks(View& view, const std::string& wished,
                           const std::vector<std::string>& names, bool constant) {
  std::vector<StoredBlockTable> tables(names.size());
  for (std::size_t part = 0; part < names.size(); ++part) {
    if (names[part].empty()) continue;
    tables[part] = StoredBlockTable(view.parts[part].file, names[part]);
    for (const std::string& list : lists_of_table(view.parts[part].file, names[part]))
      view.done.insert(list);
    if (!levels_) levels_ = levels_in(view.parts[part].file, names[part]);
  }
  for (hsize_t row = 0; row < (constant ? 1 : view.rows.size()); ++row)
    merge_row(view, &tables, row, constant);
  const std::string name = view.scales.take_name(wished);
  scale_ = std::make_unique<Dataset>(make_dimension(view.file, name, entries_.size(), true));
  write(view, constant);
}

void MergedBlocks::merge_row(View& view, std::vector<StoredBlockTable>* tables, hsize_t row,
                             bool constant) {
  std::vector<MergedRecord> records;
  for (std::size_t part = 0; part < tables->size(); ++part) {
    const std::int64_t in_part = constant ? 0 : view.rows.in_part(part, row);
    StoredBlockTable& table = (*tables)[part];
    if (!table.exists() || in_part < 0) continue;
    const StoredBlockTable::Range range = table.row(static_cast<hsize_t>(in_part));
    hsize_t record = range.first;
    for (BlockEntry& entry : table.entries(range))
      records.push_back({std::move(entry), part, record++});
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const MergedRecord& a, const MergedRecord& b) { return a.entry < b.entry; });
  const std::size_t first = runs_.size();
  for (const MergedRecord& each : records) {
    RecordRun* last = runs_.size() > first ? &runs_.back() : nullptr;
    if (last && last->part == each.part && each.record == last->from + last->count)
      ++last->count;
    else
      runs_.push_back({each.part, each.record, entries_.size(), 1});
    entries_.push_back(each.entry);
  }
  counts_.push_back(static_cast<std::int64_t>(records.size()));
  if (!constant) iterations_.resize(entries_.size(), view.rows.numbers()[row]);
}

void MergedBlocks::write(View& view, bool constant) {
  std::vector<std::int64_t> ranks, numbers;
  for (const BlockEntry& entry : entries_) {
    ranks.push_back(entry.owner.rank);
    numbers.push_back(entry.owner.number);
  }
  if (!constant) {
    write_list(view, "_iteration", kIterationOfBlock, iterations_);
    const std::string name = view.scales.take_name(scale_->name() + "_count");
    const Dataset made = write_table(view, name, counts_, {counts_.size()});
    describe_block_counts(made, view.time);
    name_dimensions(view, name, true, {});
  }
  write_list(view, "_rank", kRankOfBlock, ranks);
  write_list(view, "_number", kNumberOfBlock, numbers);
  if (levels_) write_levels(view);
}

void MergedBlocks::write_levels(View& view) {
  std::vector<std::int64_t> levels, lows;
  for (const BlockEntry& entry : entries_) {
    levels.push_back(entry.level);
    lows.insert(lows.end(), entry.low.begin(), entry.low.end());
  }
  const hsize_t axes = levels_->origin.size();
  const auto add = [&](const char* suffix, const char* about, const auto& numbers, bool is_list) {
    const std::string name = view.scales.take_name(scale_->name() + suffix);
    const Shape extents = is_list ? Shape{levels.size()} : Shape{levels.size(), axes};
    Dataset made = write_table(view, name, numbers, extents);
    set_attribute(made.id(), "long_name", about);
    set_attribute(made.id(), "units", "1");
    made.attach_scale(0, *scale_);
    return made;
  };
  Dataset list = add(kLevelSuffix, kLevelOfBlock, levels, true);
  levels_->note_at(list.id());
  coordinates_.push_back(list.name());
  Dataset places = add(kFirstCellSuffix, kFirstCellOfBlock, lows, false);
  view.scales.name(places, 1, {scale_->name() + "_axis", axes});
}

void MergedBlocks::write_list(View& view, const char* suffix, const char* about,
                              const std::vector<std::int64_t>& numbers) {
  const std::string name = view.scales.take_name(scale_->name() + suffix);
  Dataset made = write_table(view, name, numbers, {numbers.size()});
  describe_block_list(made, about);
  made.attach_scale(0, *scale_);
  scale_->grow_to({numbers.size()});
  coordinates_.push_back(name);
}

void MergedBlocks::list_named() {
  scale_->list_named();
  elements_.list_named();
}

MergedTables::MergedTables(const std::vector<Part>& parts,
                           const std::vector<ViewedVariable>& variables) {
  bool has_first = false;
  for (const ViewedVariable& variable : variables) {
    if (variable.layout == "global") continue;
    const std::vector<std::string> names = tables_of(parts, variable);
    const std::string shape = shape_of(parts, names, variable);
    Group& group = group_of(names, shape, variable.constant);
    group.shapes.insert(shape);
    group.variables.insert(variable.name);
    if (!group.wished.empty()) continue;
    const bool is_first = !has_first && !variable.constant;
    group.wished = is_first ? kUsualBlockTable : variable.name + "_" + kUsualBlockTable;
    has_first = has_first || is_first;
  }
}

bool MergedTables::Group::takes(const std::vector<std::string>& other,
                                const std::string& shape) const {
  if (other == names) return true;
  if (shapes.count(shape) == 0) return false;
  for (std::size_t part = 0; part < names.size(); ++part) {
    if (!names[part].empty() && !other[part].empty() && names[part] != other[part]) return false;
  }
  return true;
}

MergedTables::Group& MergedTables::group_of(const std::vector<std::string>& names,
                                            const std::string& shape, bool constant) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.constant == constant && group.takes(names, shape);
  });
  if (found == groups_.end()) {
    groups_.emplace_back();
    groups_.back().names = names;
    groups_.back().constant = constant;
    return groups_.back();
  }
  for (std::size_t part = 0; part < names.size(); ++part) {
    if (found->names[part].empty()) found->names[part] = names[part];
  }
  return *found;
}

MergedBlocks& MergedTables::of(View& view, const ViewedVariable& variable) {
  for (Group& group : groups_) {
    if (group.variables.count(variable.name) == 0) continue;
    if (!group.made)
      group.made =
          std::make_unique<MergedBlocks>(view, group.wished, group.names, variable.constant);
    return *group.made;
  }
  throw std::runtime_error("no table has the blocks of " + variable.name);
}

void MergedTables::list_named() {
  for (Group& group : groups_) {
    if (group.made) group.made->list_named();
  }
}

}  // namespace leat::hdf5

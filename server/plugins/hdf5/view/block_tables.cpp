// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/block_tables.hpp"

#include <algorithm>
#include <stdexcept>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/table_attributes.hpp"
#include "server/plugins/hdf5/datasets/integers.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kChunkBytes = 64ull * 1024;

struct MergedRecord {
  BlockOwner owner;
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

// As the store says it: names of the dimensions.
std::string shape_of(const ViewedVariable& variable) {
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
  for (const std::int64_t number : numbers) largest = std::max(largest, number);
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
    for (const char* suffix : {"_rank", "_number", "_iteration", "_count"})
      view.done.insert(table_of(view.parts[part].file, names[part], suffix));
  }
  for (hsize_t row = 0; row < (constant ? 1 : view.rows.size()); ++row)
    merge_row(view, &tables, row, constant);
  const std::string name = view.scales.take_name(wished);
  scale_ = std::make_unique<Dataset>(make_dimension(view.file, name, owners_.size(), true));
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
    for (const BlockOwner& owner : table.owners(range)) records.push_back({owner, part, record++});
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const MergedRecord& a, const MergedRecord& b) { return a.owner < b.owner; });
  const std::size_t first = runs_.size();
  for (const MergedRecord& each : records) {
    RecordRun* last = runs_.size() > first ? &runs_.back() : nullptr;
    if (last && last->part == each.part && each.record == last->from + last->count)
      ++last->count;
    else
      runs_.push_back({each.part, each.record, owners_.size(), 1});
    owners_.push_back(each.owner);
  }
  counts_.push_back(static_cast<std::int64_t>(records.size()));
  if (!constant) iterations_.resize(owners_.size(), view.rows.numbers()[row]);
}

void MergedBlocks::write(View& view, bool constant) {
  std::vector<std::int64_t> ranks, numbers;
  for (const BlockOwner& owner : owners_) {
    ranks.push_back(owner.rank);
    numbers.push_back(owner.number);
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
    Group& group = group_of(tables_of(parts, variable), variable);
    group.shapes.insert(shape_of(variable));
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
                                            const ViewedVariable& variable) {
  const std::string shape = shape_of(variable);
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.constant == variable.constant && group.takes(names, shape);
  });
  if (found == groups_.end()) {
    groups_.emplace_back();
    groups_.back().names = names;
    groups_.back().constant = variable.constant;
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

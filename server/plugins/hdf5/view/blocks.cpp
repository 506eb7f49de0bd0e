// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/blocks.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kChunkBytes = 64ull * 1024;

// Stands for the table in pieces that have one block in each iteration, and no table: their rows are their records.
constexpr const char* kOneBlock = "\x01";

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
    if (names[part].empty() && parts[part].is_piece) names[part] = std::string(kOneBlock);
    if (names[part].empty())
      throw std::runtime_error(parts[part].path + ": \"" + variable.name +
                               "\" has no table of its blocks");
  }
  return names;
}

// What the levels of a part's table are; none where it is not of an amr mesh.
std::optional<Levels> levels_in(hid_t file, const std::string& table) {
  if (table == kOneBlock) return std::nullopt;
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

// A server that went on with ranks of another one was given an iteration again that the other one may have begun: what it has
// of a block counts, as it was given all of them.
void remove_earlier(const std::vector<Part>& parts, std::vector<MergedRecord>* sorted) {
  std::vector<MergedRecord> kept;
  for (MergedRecord& each : *sorted) {
    const bool is_again = !kept.empty() && kept.back().entry.owner == each.entry.owner &&
                          kept.back().entry.level == each.entry.level &&
                          kept.back().part != each.part;
    if (!is_again)
      kept.push_back(std::move(each));
    else if (parts[kept.back().part].succession < parts[each.part].succession)
      kept.back() = std::move(each);
  }
  *sorted = std::move(kept);
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
  BlockTable::Kind kind{!constant};
  for (std::size_t part = 0; part < names.size(); ++part) {
    if (names[part] == kOneBlock) with_one_block_.insert(part);
    if (names[part].empty() || names[part] == kOneBlock) continue;
    tables[part] = StoredBlockTable(view.parts[part].file, names[part]);
    for (const std::string& list : lists_of_table(view.parts[part].file, names[part]))
      view.done.insert(list);
    if (!kind.levels) kind.levels = levels_in(view.parts[part].file, names[part]);
  }
  BlockTable::Content content;
  for (hsize_t row = 0; row < (constant ? 1 : view.rows.size()); ++row) {
    merge_row(view, &tables, row, !constant, &content);
    if (!constant) content.iterations.resize(content.entries.size(), view.rows.numbers()[row]);
  }
  table_.emplace(BlockTablePlace{view.file, view.scales, view.time}, view.scales.take_name(wished),
                 kind, content);
}

void MergedBlocks::merge_row(const View& view, std::vector<StoredBlockTable>* tables, hsize_t row,
                             bool has_rows, BlockTable::Content* content) {
  std::vector<MergedRecord> records;
  for (std::size_t part = 0; part < tables->size(); ++part) {
    StoredBlockTable& table = (*tables)[part];
    const bool has_one = with_one_block_.count(part) > 0;
    const std::int64_t row_there = has_rows ? view.rows.in_part(part, row) : 0;
    if (has_one && row_there >= 0)
      records.push_back({BlockEntry{}, part, static_cast<hsize_t>(row_there)});
    if (!table.exists()) continue;
    const std::int64_t in_part = table.has_rows() ? view.rows.in_part(part, row) : 0;
    if (in_part < 0) continue;
    const StoredBlockTable::Range range = table.row(static_cast<hsize_t>(in_part));
    hsize_t record = range.first;
    for (BlockEntry& entry : table.entries(range))
      records.push_back({std::move(entry), part, record++});
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const MergedRecord& a, const MergedRecord& b) { return a.entry < b.entry; });
  remove_earlier(view.parts, &records);
  const std::size_t first = runs_.size();
  for (MergedRecord& each : records) {
    RecordRun* last = runs_.size() > first ? &runs_.back() : nullptr;
    if (last && last->part == each.part && each.record == last->from + last->count)
      ++last->count;
    else
      runs_.push_back({each.part, each.record, content->entries.size(), 1});
    content->entries.push_back(std::move(each.entry));
  }
  content->counts.push_back(static_cast<std::int64_t>(records.size()));
}

MergedTables::MergedTables(const std::vector<Part>& parts,
                           const std::vector<ViewedVariable>& variables) {
  bool has_first = false;
  for (const ViewedVariable& variable : variables) {
    if (is_array(variable)) continue;
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
    if (group.made) group.made->table().list_named();
  }
}

// Variables without a global shape: the blocks of all parts, row by row, ordered by level, rank and
// number.

namespace {

// What stands beside the variable, block by block: of a part, and of the view.
class OfBlocks {
 public:
  OfBlocks(View& view, const ViewedVariable& variable, const std::string& suffix, std::size_t width)
      : suffix_(suffix), width_(width), in_part_(view.parts.size()) {
    for (std::size_t part = 0; part < in_part_.size(); ++part) {
      if (!variable.in_part[part].is_open()) continue;
      const hid_t file = view.parts[part].file;
      in_part_[part] = RowTable(file, variable.name, suffix);
      if (!in_part_[part].exists()) continue;
      const std::string& name = in_part_[part].name();
      view.done.insert(name);
      const Id type(H5Dget_type(open_dataset(file, name)), name);
      if (H5Tget_size(type) > sizeof(std::int32_t))
        room_for_ = std::numeric_limits<std::int64_t>::max();
    }
  }

  // `otherwise`: of each block of a part that has no such table.
  void add(const RecordRun& run, const std::vector<std::int64_t>& otherwise) {
    std::vector<std::int64_t> here;
    if (in_part_[run.part].exists()) here = in_part_[run.part].rows(run.from, run.count);
    while (here.size() < run.count * width_)
      here.insert(here.end(), otherwise.begin(), otherwise.end());
    all_.insert(all_.end(), here.begin(), here.end());
  }

  const std::vector<std::int64_t>& all() const { return all_; }

  // Of (block), or (block, width).
  void write(View& view, const ViewedVariable& variable, BlockTable* blocks, const TableKind& kind,
             bool is_list) const {
    const std::string name = view.scales.take_name(variable.name + suffix_);
    Shape extents{blocks->size()};
    std::vector<DimensionName> names;
    if (!is_list) {
      extents.push_back(width_);
      names.push_back({variable.name + "_dims", width_});
    }
    const Dataset made = write_table(view, name, all_, extents, room_for_);
    describe_table(made, variable.name, kind, "");
    name_dimensions(view, name, &blocks->scale(), names);
  }

 private:
  std::string suffix_;
  std::size_t width_;
  std::vector<RowTable> in_part_;
  std::int64_t room_for_ = 0;  // what the tables of parts have room for
  std::vector<std::int64_t> all_;
};

Mapping with_rest(Mapping mapping, const Shape& rest) {
  for (Shape* starts : {&mapping.from, &mapping.to}) starts->insert(starts->end(), rest.size(), 0);
  for (Shape* counts : {&mapping.from_count, &mapping.to_count})
    counts->insert(counts->end(), rest.begin(), rest.end());
  return mapping;
}

// Which attributes name the table, which is called otherwise in some part.
void name_table(View& view, const ViewedVariable& variable, const BlockTable& blocks,
                bool is_coordinate_list) {
  const Id dataset = open_dataset(view.file, variable.name);
  set_attribute(dataset, kBlockTable, blocks.name());
  if (!is_coordinate_list) return;
  set_attribute(dataset, "coordinates", coordinates_of_blocks(blocks.coordinates(), variable.name));
}

void write_stored(View& view, const ViewedVariable& variable, BlockTable* blocks,
                  const std::vector<std::int64_t>& flags) {
  if (std::count(flags.begin(), flags.end(), 0) == 0) return;
  DatasetPlan plan = growing_list(flags.size());
  plan.chunk = {std::clamp<hsize_t>(flags.size(), 1, plan.chunk[0])};
  plan.fill = {0};
  const std::string name = view.scales.take_name(variable.name + kStoredSuffix);
  const std::vector<std::int8_t> bytes(flags.begin(), flags.end());
  Dataset mask(view.file, name, H5T_NATIVE_INT8, plan);
  mask.write({0}, {bytes.size()}, bytes.data());
  describe_mask(mask, stored_blocks_of(variable.name), "");
  name_dimensions(view, name, &blocks->scale(), {});
}

// In each part, of each record where its elements begin; and where all end.
std::vector<std::vector<hsize_t>> starts_of(const View& view, const ViewedVariable& variable) {
  std::vector<std::vector<hsize_t>> all(view.parts.size());
  for (std::size_t part = 0; part < all.size(); ++part) {
    if (!variable.in_part[part].is_open()) continue;
    const hid_t file = view.parts[part].file;
    all[part].push_back(0);
    for (const std::int64_t count : integers_of(file, table_of(file, variable.name, "_count")))
      all[part].push_back(all[part].back() +
                          static_cast<hsize_t>(std::max<std::int64_t>(0, count)));
  }
  return all;
}

bool has_other_sizes(const std::vector<std::int64_t>& sizes, const Shape& usual) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] >= 0 && static_cast<hsize_t>(sizes[i]) != usual[i % usual.size()]) return true;
  }
  return false;
}

}  // namespace

void add_blocks(View& view, const ViewedVariable& variable) {
  MergedBlocks& merged = view.tables.of(view, variable);
  BlockTable& blocks = merged.table();
  VirtualPlan plan = plan_for(view, variable.name, variable.name, {}, variable.unlike);
  Shape rest;
  for (const Shape& extents : plan.source_extents) {
    rest.resize(std::max(rest.size(), extents.empty() ? 0 : extents.size() - 1), 0);
    for (std::size_t d = 0; d + 1 < extents.size(); ++d)
      rest[d] = std::max(rest[d], extents[d + 1]);
  }
  plan.extents = joined(blocks.size(), rest);
  OfBlocks sizes(view, variable, "_extent", rest.size());
  OfBlocks stored(view, variable, kStoredSuffix, 1);
  MappingList data;
  for (const RecordRun& run : merged.runs()) {
    const Shape& source = plan.source_extents[run.part];
    const bool is_there = !source.empty();
    stored.add(run, {is_there ? 1 : 0});
    const Shape own = behind(source);
    sizes.add(run, is_there ? std::vector<std::int64_t>(own.begin(), own.end())
                            : std::vector<std::int64_t>(rest.size(), -1));
    if (is_there) data.add({run.part, {run.from}, {run.count}, {run.to}, {run.count}});
  }
  for (const Mapping& mapping : data.all())
    plan.mappings.push_back(with_rest(mapping, behind(plan.source_extents[mapping.part])));
  create_virtual(view.file, plan, variable.like());
  const std::vector<std::string> own = own_dimensions(variable, rest.size());
  std::vector<DimensionName> names;
  for (std::size_t d = 0; d < rest.size(); ++d) names.push_back({own[d], rest[d]});
  name_dimensions(view, variable.name, &blocks.scale(), names, own);
  name_table(view, variable, blocks, true);
  if (!rest.empty() && has_other_sizes(sizes.all(), rest))
    sizes.write(view, variable, &blocks, extents_of_blocks(0), false);
  write_stored(view, variable, &blocks, stored.all());
}

void add_ragged(View& view, const ViewedVariable& variable) {
  MergedBlocks& merged = view.tables.of(view, variable);
  BlockTable& blocks = merged.table();
  const Shape like = extents_of(variable.like()), rest = behind(like);
  const std::string extent = table_of(view.parts[variable.first].file, variable.name, "_extent");
  const bool is_flat = !extent.empty();
  const std::size_t dims =
      is_flat ? extents_in(view.parts[variable.first].file, extent).back() : like.size();
  OfBlocks counts(view, variable, "_count", 1), sizes(view, variable, "_extent", dims);
  const std::vector<std::vector<hsize_t>> starts = starts_of(view, variable);
  MappingList data;
  hsize_t total = 0;
  for (const RecordRun& run : merged.runs()) {
    counts.add(run, {-1});
    if (is_flat) sizes.add(run, std::vector<std::int64_t>(dims, -1));
    if (!variable.in_part[run.part].is_open()) continue;
    const hsize_t from = starts[run.part].at(run.from);
    const hsize_t here = starts[run.part].at(run.from + run.count) - from;
    if (here > 0) data.add({run.part, {from}, {here}, {total}, {here}});
    total += here;
  }
  VirtualPlan plan =
      plan_for(view, variable.name, variable.name, joined(total, rest), variable.unlike);
  for (const Mapping& mapping : data.all()) plan.mappings.push_back(with_rest(mapping, rest));
  create_virtual(view.file, plan, variable.like());
  const std::vector<std::string> own = own_dimensions(variable, like.size());
  const WantedElements wanted{own.front(), variable.name + "_element", 0, counts.all()};
  std::vector<DimensionName> names(1);
  names[0].scale = &blocks.elements().find_or_make(view.file, view.scales, wanted).scale();
  for (std::size_t d = 1; d < like.size(); ++d) names.push_back({own[d], like[d]});
  name_dimensions(view, variable.name, false, names, is_flat ? std::vector<std::string>{} : own);
  name_table(view, variable, blocks, false);
  counts.write(view, variable, &blocks, counts_of_blocks(0), true);
  if (is_flat) sizes.write(view, variable, &blocks, extents_of_blocks(0), false);
}

}  // namespace leat::hdf5

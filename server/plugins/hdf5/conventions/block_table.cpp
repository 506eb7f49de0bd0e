// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/block_table.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

hsize_t sum_of(const ElementCounts& counts) {
  hsize_t sum = 0;
  for (const std::int64_t count : counts)
    sum += static_cast<hsize_t>(std::max<std::int64_t>(0, count));
  return sum;
}

bool ElementDimension::keeps(hsize_t first, hsize_t before, const ElementCounts& counts) {
  if (variables_ > 1) return has(first, before, counts);
  first_ = first;
  total_ = before;
  counts_ = counts;
  return true;
}

bool ElementDimension::has(hsize_t first, hsize_t before, const ElementCounts& counts) {
  if (first != first_) {
    total_ += sum_of(counts_);
    counts_.clear();
    first_ = first;
  }
  if (before != total_) return false;
  if (counts_.empty()) counts_ = counts;
  return counts_ == counts;
}

ElementDimension& ElementDimensions::find_or_make(hid_t file, DimensionScales& scales,
                                                  const WantedElements& wanted) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& each) {
    return each->kind() == wanted.kind && each->has(wanted.first, 0, wanted.counts);
  });
  if (found == all_.end()) return make(file, scales, wanted, 0);
  (*found)->join();
  return **found;
}

ElementDimension& ElementDimensions::make(hid_t file, DimensionScales& scales,
                                          const WantedElements& wanted, hsize_t total) {
  const bool is_first = std::none_of(all_.begin(), all_.end(),
                                     [&](const auto& each) { return each->kind() == wanted.kind; });
  const std::string name = scales.take_name(is_first ? wanted.kind : wanted.own_name);
  all_.push_back(
      std::make_unique<ElementDimension>(make_dimension(file, name, 0, true), wanted.kind, total));
  all_.back()->join();
  all_.back()->keeps(wanted.first, total, wanted.counts);
  return *all_.back();
}

ElementDimension& ElementDimensions::resume(hid_t file, const std::string& name,
                                            const std::string& kind, hsize_t total) {
  auto found = std::find_if(all_.begin(), all_.end(),
                            [&](const auto& each) { return each->name() == name; });
  if (found == all_.end()) {
    all_.push_back(std::make_unique<ElementDimension>(Dataset(file, name), kind, total));
    found = all_.end() - 1;
  }
  (*found)->join();
  (*found)->had(total);
  return **found;
}

void ElementDimensions::list_named() {
  for (const auto& each : all_) each->scale().list_named();
}

namespace {

std::string key_of(const WantedBlocks& wanted) {
  return (wanted.kind.has_rows ? "" : "=") + wanted.shape;
}

// The number that needs most room.
std::int64_t furthest_of(const BlockEntries& entries) {
  std::int64_t furthest = 0;
  for (const BlockEntry& entry : entries) {
    for (const std::int64_t at : entry.low) furthest = std::max(furthest, at < 0 ? -(at + 1) : at);
  }
  return furthest;
}

std::vector<double> as_in_layout(const double* axes, std::uint32_t dims) {
  return {std::make_reverse_iterator(axes + dims), std::make_reverse_iterator(axes)};
}

}  // namespace

void describe_level_list(const Dataset& list, const char* about) {
  set_attribute(list.id(), "long_name", about);
  set_attribute(list.id(), "units", "1");
}

void describe_block_list(const Dataset& list, const char* about) {
  describe_level_list(list, about);
  set_fill_attribute(list.id(), list.type(), number_bytes(list.type(), kNoBlock));
}

void describe_block_counts(const Dataset& counts, const std::string& time) {
  set_attribute(counts.id(), "long_name", "number of blocks in the iteration");
  set_attribute(counts.id(), "units", "1");
  set_coordinates(counts, coordinates_of_rows(time, counts.name()));
}

const leat_mesh* amr_mesh_of(const leat_run& run, const leat_variable& variable) {
  const leat_mesh* mesh = leat_variable_mesh(&run, &variable);
  return mesh && mesh->kind == LEAT_MESH_AMR ? mesh : nullptr;
}

BlockEntry entry_of(const leat_variable& variable, const leat_block& block) {
  BlockEntry entry{-1, {block.rank, block.block}, {}};
  if (!leat_block_has_level(&block)) return entry;
  entry.level = block.level;
  entry.low.assign(block.position, block.position + variable.dims);
  return entry;
}

Levels::Levels(const leat_mesh& of)
    : mesh(of.name),
      unit(of.unit),
      ratio(of.ratio),
      origin(as_in_layout(of.origin, of.dims)),
      spacing(as_in_layout(of.spacing, of.dims)) {}

Levels::Levels(hid_t noted_at)
    : mesh(text_attribute(noted_at, "leat_mesh", "")),
      unit(text_attribute(noted_at, "leat_unit", "")),
      ratio(integer_attribute(noted_at, "leat_ratio", 2)),
      origin(numbers_attribute(noted_at, "leat_origin")),
      spacing(numbers_attribute(noted_at, "leat_spacing")) {}

void Levels::note_at(hid_t dataset) const {
  set_attribute(dataset, "leat_mesh", mesh);
  set_attribute(dataset, "leat_ratio", ratio);
  set_attribute(dataset, "leat_origin", origin);
  set_attribute(dataset, "leat_spacing", spacing);
  if (!unit.empty()) set_attribute(dataset, "leat_unit", unit);
}

BlockTable::BlockTable(const BlockTablePlace& place, const std::string& name, const Kind& kind,
                       hsize_t rows, const BlockEntries& first)
    : kind_(kind), scale_(make_dimension(place.file, name, 0, true)) {
  const hsize_t at_once = first.size();
  ranks_ = list(place, "_rank", kRankOfBlock, at_once);
  numbers_ = list(place, "_number", kNumberOfBlock, at_once);
  if (has_rows()) {
    iterations_ = list(place, "_iteration", kIterationOfBlock, at_once);
    const std::string counts = place.scales.take_name(name + "_count");
    DatasetPlan plan = growing_list();
    plan.chunk = {records_in_chunk(sizeof(std::int32_t), 1, true)};
    counts_ = Dataset(place.file, counts, H5T_NATIVE_INT32, plan);
    place.scales.attach_rows(counts_);
    if (counts_.is_new()) describe_block_counts(counts_, place.time);
  }
  if (kind.amr) make_levels(place, first);
  if (!scale_.is_new()) resume(rows);
}

void BlockTable::make_levels(const BlockTablePlace& place, const BlockEntries& first) {
  const hsize_t axes = kind_.amr->dims, at_once = first.size();
  DatasetPlan plan = growing_list();
  plan.chunk = {records_in_chunk(sizeof(std::int32_t), at_once, has_rows())};
  levels_ = Dataset(place.file, place.scales.take_name(scale_.name() + kLevelSuffix),
                    H5T_NATIVE_INT32, plan);
  levels_.attach_scale(0, scale_);
  const std::string lows = place.scales.take_name(scale_.name() + kFirstCellSuffix);
  const Id type = number_type(place.file, lows, furthest_of(first));
  plan = {{0, axes}, {true, false}, {}, {}, {}};
  plan.chunk = {records_in_chunk(H5Tget_size(type) * axes, at_once, has_rows()), axes};
  lows_ = Dataset(place.file, lows, type, plan);
  lows_.attach_scale(0, scale_);
  place.scales.name(lows_, 1, {scale_.name() + "_axis", axes});
  if (!lows_.is_new()) return;
  describe_level_list(levels_, kLevelOfBlock);
  describe_level_list(lows_, kFirstCellOfBlock);
  Levels(*kind_.amr).note_at(levels_.id());
}

Dataset BlockTable::list(const BlockTablePlace& place, const char* suffix, const char* about,
                         hsize_t at_once) {
  DatasetPlan plan = growing_list();
  plan.chunk = {records_in_chunk(sizeof(std::int32_t), at_once, has_rows())};
  plan.fill = number_bytes(H5T_NATIVE_INT32, kNoBlock);
  Dataset made(place.file, place.scales.take_name(scale_.name() + suffix), H5T_NATIVE_INT32, plan);
  made.attach_scale(0, scale_);
  if (made.is_new()) describe_block_list(made, about);
  return made;
}

void BlockTable::resume(hsize_t rows) {
  if (!has_rows()) {
    size_ = ranks_.extents()[0];
    const auto ranks = read_numbers(ranks_, {0}, {size_}),
               numbers = read_numbers(numbers_, {0}, {size_});
    for (hsize_t i = 0; i < size_; ++i) records_[{-1, {ranks[i], numbers[i]}, {}}] = i;
    return;
  }
  const Shape count{std::min(rows, counts_.extents()[0])};
  const std::vector<std::int64_t> counts = read_numbers(counts_, {0}, count);
  size_ = static_cast<hsize_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  first_ = size_;
}

void BlockTable::begin_row(hsize_t row, std::int64_t iteration) {
  if (has_rows()) {
    records_.clear();
    first_ = size_;
  }
  std::vector<BlockEntry> fresh;
  for (const BlockEntry& entry : wanted_) {
    if (records_.count(entry) == 0 && has_room_for(entry)) fresh.push_back(entry);
  }
  wanted_.clear();
  failed_.clear();
  const hsize_t before = size_;
  try {
    append(fresh, std::vector<std::int64_t>(fresh.size(), iteration));
    if (!has_rows() || fresh.empty()) return;
    const auto count = static_cast<std::int64_t>(fresh.size());
    counts_.grow_to({row + 1});
    write_numbers(counts_, {row}, {1}, {count});
  } catch (const std::exception& e) {
    size_ = before;
    failed_ = e.what();
  }
}

bool BlockTable::has_room_for(const BlockEntry& entry) const {
  return std::all_of(entry.low.begin(), entry.low.end(),
                     [this](std::int64_t at) { return hdf5::has_room_for(lows_, at); });
}

void BlockTable::append(const std::vector<BlockEntry>& entries,
                        const std::vector<std::int64_t>& iterations) {
  const BlockColumns of(entries);
  const Shape start{size_}, count{entries.size()};
  const auto add = [&](Dataset* list, const std::vector<std::int64_t>& numbers) {
    list->grow_to({size_ + entries.size()});
    write_numbers(*list, start, count, numbers);
  };
  add(&ranks_, of.ranks);
  add(&numbers_, of.numbers);
  if (has_rows()) add(&iterations_, iterations);
  if (kind_.amr) {
    const hsize_t axes = kind_.amr->dims;
    add(&levels_, of.levels);
    lows_.grow_to({size_ + entries.size(), axes});
    write_numbers(lows_, {size_, 0}, {entries.size(), axes}, of.lows);
  }
  for (const BlockEntry& entry : entries) records_[entry] = size_++;
}

void BlockTable::take_rows(const std::vector<std::int64_t>& iterations, const BlockOwner& owner) {
  if (iterations.empty()) return;
  append(std::vector<BlockEntry>(iterations.size(), {-1, owner, {}}), iterations);
  counts_.grow_to({iterations.size()});
  write_numbers(counts_, {0}, {iterations.size()}, std::vector<std::int64_t>(iterations.size(), 1));
  first_ = size_;
}

void BlockTable::list_named() {
  scale_.list_named();
  elements_.list_named();
}

void BlockTable::grow_to_rows(hsize_t rows) {
  if (has_rows()) counts_.grow_to({rows});
}

std::optional<hsize_t> BlockTable::record_of(const BlockEntry& entry) const {
  if (!failed_.empty()) throw std::runtime_error(failed_);
  const auto found = records_.find(entry);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> BlockTable::coordinates() const {
  if (!has_rows()) return {ranks_.name(), numbers_.name()};
  std::vector<std::string> names{iterations_.name(), ranks_.name(), numbers_.name()};
  if (levels_.exists()) names.push_back(levels_.name());
  return names;
}

BlockTable* BlockTables::of(std::uint32_t variable) const {
  const auto found = of_.find(variable);
  return found == of_.end() ? nullptr : found->second;
}

void BlockTables::resume(std::uint32_t variable, const WantedBlocks& described,
                         const std::string& name, hsize_t rows) {
  const auto is_it = [&](const auto& table) { return table->name() == name; };
  auto found = std::find_if(tables_.begin(), tables_.end(), is_it);
  if (found == tables_.end()) {
    tables_.push_back(
        std::make_unique<BlockTable>(place_, name, described.kind, rows, BlockEntries{}));
    found = tables_.end() - 1;
  }
  of_[variable] = found->get();
  if (!described.shape.empty()) by_shape_.emplace(key_of(described), found->get());
}

BlockTable* BlockTables::make(const WantedBlocks& wanted, hsize_t rows) {
  const bool is_first = std::none_of(tables_.begin(), tables_.end(),
                                     [](const auto& table) { return table->has_rows(); });
  const std::string wished = is_first && wanted.kind.has_rows
                                 ? kUsualBlockTable
                                 : leat_variable_at(&place_.run, wanted.variable)->name +
                                       std::string("_") + kUsualBlockTable;
  tables_.push_back(std::make_unique<BlockTable>(place_, place_.scales.take_name(wished),
                                                 wanted.kind, rows, wanted.entries));
  return tables_.back().get();
}

BlockTable* BlockTables::table_for(const WantedBlocks& wanted, hsize_t row,
                                   const std::vector<std::int64_t>& pending) {
  const bool was_single = single(wanted.variable);
  const auto shape = by_shape_.find(key_of(wanted));
  if (!was_single && !wanted.shape.empty() && shape != by_shape_.end()) return shape->second;
  for (const auto& table : tables_) {
    if (table->kind() == wanted.kind && table->wanted() == wanted.entries &&
        was_single == (converted_.count(table.get()) > 0))
      return table.get();
  }
  BlockTable* made = make(wanted, row);
  if (!was_single) return made;
  Dataset& said = place_.scales.iteration();
  std::vector<std::int64_t> iterations = read_numbers(said, {0}, said.extents());
  iterations.insert(iterations.end(), pending.begin(), pending.end());
  made->take_rows(iterations, {0, 0});
  converted_.insert(made);
  return made;
}

void BlockTables::begin_row(hsize_t row, std::int64_t iteration,
                            const std::vector<WantedBlocks>& wanted,
                            const std::vector<std::int64_t>& pending) {
  converted_.clear();
  for (const auto& table : tables_) table->want_none();  // of an iteration that could not begin
  for (const WantedBlocks& each : wanted) {
    BlockTable* table = of(each.variable);
    if (!table) {
      table = table_for(each, row, pending);
      of_[each.variable] = table;
      single_.erase(each.variable);
      if (!each.shape.empty()) by_shape_.emplace(key_of(each), table);
    }
    table->want(each.entries);
  }
  for (const auto& table : tables_) table->begin_row(row, iteration);
}

void BlockTables::list_named() {
  for (const auto& table : tables_) table->list_named();
}

void BlockTables::grow_to_rows(hsize_t rows) {
  for (const auto& table : tables_) table->grow_to_rows(rows);
}

}  // namespace leat::hdf5

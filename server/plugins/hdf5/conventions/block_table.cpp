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
template <class Entries>
std::int64_t furthest_of(const Entries& entries) {
  std::int64_t furthest = 0;
  for (const BlockEntry& entry : entries) {
    for (const std::int64_t at : entry.low) furthest = std::max(furthest, at < 0 ? -(at + 1) : at);
  }
  return furthest;
}

// The lists of a table are called after it; `about` is the attribute `long_name` of each.
constexpr const char* kRank = "rank that wrote the block";
constexpr const char* kNumber = "number of the block within its rank";
constexpr const char* kIteration = "iteration in which the block was written";
constexpr const char* kCount = "number of blocks in the iteration";
constexpr const char* kLevel = "level of the block, from the coarsest, 0";
constexpr const char* kFirstCell = "first cell of the block among the cells of its level";
// Where no block is.
constexpr std::int64_t kNoBlock = -1;
constexpr std::uint64_t kPackedChunk = 64ull * 1024;

std::vector<double> as_in_layout(const double* axes, std::uint32_t dims) {
  return {std::make_reverse_iterator(axes + dims), std::make_reverse_iterator(axes)};
}

}  // namespace

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

// A list of the table: numbers of each block, or of each iteration.
struct BlockTable::ListForm {
  const char* about;
  std::int64_t largest = 0;  // that it has room for, at least
  hsize_t width = 0;         // of several numbers each
  hsize_t at_once = 0;       // that come together; 0: as many as blocks do
  bool has_fill = true;      // not of levels and places, where any number may stand
};

BlockTable::BlockTable(const BlockTablePlace& place, const std::string& name, const Kind& kind,
                       hsize_t rows, const BlockEntries& first)
    : kind_(kind),
      at_once_(first.size()),
      is_packed_(false),
      scale_(make_dimension(place.file, name, 0, true)) {
  make_lists(place, furthest_of(first), 1);
  if (!scale_.is_new()) resume(rows);
}

BlockTable::BlockTable(const BlockTablePlace& place, const std::string& name, const Kind& kind,
                       const Content& content)
    : kind_(kind),
      at_once_(std::max<hsize_t>(1, content.entries.size())),
      is_packed_(true),
      scale_(make_dimension(place.file, name, content.entries.size(), true)) {
  make_lists(place, furthest_of(content.entries), content.counts.size());
  append(content.entries, content.iterations);
  if (!has_rows()) return;
  counts_.grow_to({content.counts.size()});
  write_numbers(counts_, {0}, {content.counts.size()}, content.counts);
}

void BlockTable::make_lists(const BlockTablePlace& place, std::int64_t furthest,
                            hsize_t rows_at_once) {
  ranks_ = make_list(place, "_rank", {kRank});
  numbers_ = make_list(place, "_number", {kNumber});
  if (has_rows()) {
    iterations_ = make_list(place, "_iteration", {kIteration});
    counts_ =
        make_list(place, "_count", {.about = kCount, .at_once = rows_at_once, .has_fill = false});
    place.scales.attach_rows(counts_);
    if (counts_.is_new()) set_coordinates(counts_, coordinates_of_rows(place.time, counts_.name()));
  }
  for (Dataset* list : {&ranks_, &numbers_, &iterations_})
    if (list->exists()) list->attach_scale(0, scale_);
  if (!kind_.levels) return;
  levels_ = make_list(place, kLevelSuffix, {.about = kLevel, .has_fill = false});
  levels_.attach_scale(0, scale_);
  if (levels_.is_new()) kind_.levels->note_at(levels_.id());
  const hsize_t axes = kind_.levels->origin.size();
  lows_ = make_list(place, kFirstCellSuffix, {kFirstCell, furthest, axes, 0, false});
  lows_.attach_scale(0, scale_);
  place.scales.name(lows_, 1, {scale_.name() + "_axis", axes});
}

Dataset BlockTable::make_list(const BlockTablePlace& place, const char* suffix,
                              const ListForm& form) const {
  const std::string name = place.scales.take_name(scale_.name() + suffix);
  const Id type = number_type(place.file, name, form.largest);
  const std::uint64_t bytes = H5Tget_size(type) * std::max<hsize_t>(1, form.width);
  const hsize_t at_once = form.at_once > 0 ? form.at_once : at_once_;
  DatasetPlan plan = growing_list();
  if (is_packed_) {
    plan.chunk = {std::clamp<hsize_t>(kPackedChunk / bytes, 1, at_once)};
    if (bytes * at_once > kPackedChunk) plan.compression = compression_from("deflate:1");
  } else {
    plan.chunk = {records_in_chunk(bytes, at_once, has_rows())};
  }
  if (form.has_fill) plan.fill = number_bytes(type, kNoBlock);
  if (form.width > 0) {
    plan.extents = {0, form.width};
    plan.grows = {true, false};
    plan.chunk.push_back(form.width);
  }
  Dataset list(place.file, name, type, plan);
  if (!list.is_new()) return list;
  set_attribute(list.id(), "long_name", form.about);
  set_attribute(list.id(), "units", "1");
  if (form.has_fill)
    set_fill_attribute(list.id(), list.type(), number_bytes(list.type(), kNoBlock));
  return list;
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
  std::vector<std::int64_t> ranks, numbers, levels, lows;
  for (const BlockEntry& entry : entries) {
    ranks.push_back(entry.owner.rank);
    numbers.push_back(entry.owner.number);
    levels.push_back(entry.level);
    lows.insert(lows.end(), entry.low.begin(), entry.low.end());
  }
  const auto add = [&](Dataset* list, const std::vector<std::int64_t>& values) {
    list->grow_to({size_ + entries.size(), 0});
    Shape start = zeros(list->extents()), count = list->extents();
    start[0] = size_;
    count[0] = entries.size();
    write_numbers(*list, start, count, values);
  };
  add(&ranks_, ranks);
  add(&numbers_, numbers);
  if (has_rows()) add(&iterations_, iterations);
  if (levels_.exists()) add(&levels_, levels);
  if (lows_.exists()) add(&lows_, lows);
  for (const BlockEntry& entry : entries) {
    if (!is_packed_) records_[entry] = size_;  // a view asks for none
    ++size_;
  }
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
  const std::string wished =
      is_first && wanted.kind.has_rows
          ? kUsualBlockTable
          : leat_variable_at(&run_, wanted.variable)->name + std::string("_") + kUsualBlockTable;
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

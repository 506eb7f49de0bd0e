// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/tables.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

namespace leat::hdf5 {
namespace {

constexpr hsize_t kAtOnce = 1 << 16;  // numbers

bool is_variable(hid_t file, const std::string& name) {
  return check(H5Aexists_by_name(file, name.c_str(), "leat_layout", H5P_DEFAULT), name) > 0;
}

}  // namespace

std::vector<std::int64_t> integers_of(hid_t file, const std::string& name, Shape* extents) {
  const Id dataset = open_dataset(file, name);
  const Shape shape = extents_of(dataset);
  std::vector<std::int64_t> all(product(shape));
  read_part(dataset, H5T_NATIVE_INT64, zeros(shape), shape, all.data(), "cannot read " + name);
  // It may have grown meanwhile.
  if (extents) *extents = shape;
  return all;
}

std::string table_of(hid_t file, const std::string& variable, const std::string& suffix) {
  for (const std::string& group : {own_group(file), std::string()}) {
    std::string name = group + variable + suffix;
    for (int tries = 0; tries < 8; ++tries, name += "_") {
      if (is_dataset(file, name) && !is_variable(file, name)) return name;
    }
  }
  return "";
}

std::string scale_of_rows(hid_t file) {
  const std::string iterations = table_of(file, "", "iteration");
  if (iterations.empty()) return "";
  const Id dataset = open_dataset(file, iterations);
  if (is_scale(dataset)) return iterations;
  const std::vector<std::string> scales = scales_of(dataset, 0);
  return scales.empty() ? "" : scales.front();
}

// As a table has it that has no coordinate but that of its rows.
std::string coordinate_of_rows(hid_t file) {
  const std::string table = table_of(file, "", "iteration_complete");
  if (table.empty()) return "";
  const std::string name = text_attribute(open_dataset(file, table), "coordinates", "");
  return name.substr(name.rfind('/') + 1);
}

std::string name_of_times(hid_t file) {
  const std::string rows = scale_of_rows(file);
  return rows == table_of(file, "", "iteration") ? coordinate_of_rows(file) : rows;
}

std::vector<double> doubles_of(hid_t file, const std::string& name) {
  const Id dataset = open_dataset(file, name);
  const Shape extents = extents_of(dataset);
  std::vector<double> all(product(extents));
  read_part(dataset, H5T_NATIVE_DOUBLE, zeros(extents), extents, all.data(), "cannot read " + name);
  return all;
}

std::vector<double> times_of_rows(hid_t file, const std::vector<std::int64_t>& iterations) {
  std::vector<double> times(iterations.begin(), iterations.end());
  const std::string name = name_of_times(file);
  if (name.empty()) return times;
  const std::vector<double> said = doubles_of(file, name);
  for (std::size_t row = 0; row < times.size() && row < said.size(); ++row) {
    if (std::isfinite(said[row])) times[row] = said[row];
  }
  return times;
}

RowTable::RowTable(hid_t file, const std::string& variable, const std::string& suffix)
    : name_(table_of(file, variable, suffix)) {
  if (!name_.empty()) data_ = open_dataset(file, name_);
}

std::vector<std::int64_t> RowTable::row(hsize_t row) {
  if (!exists()) return {};
  if (row < first_ || row >= first_ + count_) read_from(row);
  if (count_ == 0) return {};
  const auto begin = values_.begin() + static_cast<std::ptrdiff_t>((row - first_) * width_);
  return {begin, begin + static_cast<std::ptrdiff_t>(width_)};
}

std::vector<std::int64_t> RowTable::rows(hsize_t first, hsize_t count) {
  std::vector<std::int64_t> all;
  for (hsize_t at = first; exists() && at < first + count;) {
    if (at < first_ || at >= first_ + count_) read_from(at);
    if (count_ == 0) break;
    const hsize_t some = std::min(first + count, first_ + count_) - at;
    const auto from = values_.begin() + static_cast<std::ptrdiff_t>((at - first_) * width_);
    all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(some * width_));
    at += some;
  }
  return all;
}

void RowTable::read_from(hsize_t row) {
  Shape count = extents_of(data_);  // it grows
  width_ = product(behind(count));
  first_ = row;
  count_ = row < count[0] ? std::min(count[0] - row,
                                     std::max<hsize_t>(1, kAtOnce / std::max<hsize_t>(1, width_)))
                          : 0;
  count[0] = count_;
  const Shape start = joined(row, zeros(behind(count)));
  values_.resize(count_ * width_);
  read_part(data_, H5T_NATIVE_INT64, start, count, values_.data(), "cannot read " + name_);
}

TableKind counts_of_blocks(std::int64_t largest) {
  return {"_count", "elements of the block", -1, largest};
}

TableKind extents_of_blocks(std::int64_t largest) {
  return {"_extent", "extents of the block", -1, largest};
}

TableKind extents_of_arrays(std::int64_t largest) {
  return {"_global", "extents of the global array in the iteration", -1, largest, true};
}

MaskKind written_mask_of(const std::string& variable) {
  return {"1: " + variable + " was written in this iteration", "not_written written"};
}

MaskKind stored_blocks_of(const std::string& variable) {
  return {"1: the block has values of " + variable, "not_stored stored"};
}

void describe_table(const Dataset& table, const std::string& variable, const TableKind& kind,
                    const std::string& coordinates) {
  set_attribute(table.id(), "long_name", variable + ": " + kind.about);
  if (kind.nothing < 0)
    set_fill_attribute(table.id(), table.type(), number_bytes(table.type(), kind.nothing));
  set_coordinates(table, coordinates);
}

void describe_mask(const Dataset& flags, const MaskKind& kind, const std::string& coordinates) {
  set_attribute(flags.id(), "long_name", kind.about);
  set_attribute(flags.id(), "flag_values", std::vector<std::int8_t>{0, 1});
  set_attribute(flags.id(), "flag_meanings", kind.meanings);
  set_coordinates(flags, coordinates);
}

Dataset open_mask(const Target& target, const std::string& name, const MaskKind& kind,
                  hsize_t length) {
  DatasetPlan plan = growing_list(length);
  plan.fill = {0};
  Dataset flags(target.file, name, H5T_NATIVE_INT8, plan);
  target.scales.attach_rows(flags);
  if (flags.is_new()) describe_mask(flags, kind, coordinates_of_rows(target.time, name));
  return flags;
}

std::string block_table_of(hid_t file, const std::string& variable) {
  return fixed_attribute(open_dataset(file, variable), kBlockTable);
}

std::vector<std::string> lists_of_table(hid_t file, const std::string& name) {
  std::vector<std::string> names;
  for (const char* suffix :
       {"_rank", "_number", "_iteration", "_count", kLevelSuffix, kFirstCellSuffix})
    names.push_back(table_of(file, name, suffix));
  return names;
}

StoredBlockTable::StoredBlockTable(hid_t file, const std::string& name)
    : ranks_(file, name, "_rank"),
      numbers_(file, name, "_number"),
      counts_(file, name, "_count"),
      levels_(file, name, kLevelSuffix),
      lows_(file, name, kFirstCellSuffix) {
  if (!ranks_.exists()) throw std::runtime_error("the file has no " + name + "_rank");
}

StoredBlockTable::Range StoredBlockTable::row(hsize_t row) {
  if (!counts_.exists()) return {0, ranks_.size()};
  while (starts_.size() <= row + 1) {
    const std::vector<std::int64_t> count = counts_.row(starts_.size() - 1);
    if (count.empty()) return {starts_.back(), 0};
    starts_.push_back(starts_.back() + static_cast<hsize_t>(std::max<std::int64_t>(0, count[0])));
  }
  return {starts_[row], starts_[row + 1] - starts_[row]};
}

std::vector<BlockEntry> StoredBlockTable::entries(const Range& range) {
  const std::vector<std::int64_t> ranks = ranks_.rows(range.first, range.count);
  const std::vector<std::int64_t> numbers = numbers_.rows(range.first, range.count);
  const std::vector<std::int64_t> levels = levels_.rows(range.first, range.count);
  const std::vector<std::int64_t> lows = lows_.rows(range.first, range.count);
  std::vector<BlockEntry> all(std::min(ranks.size(), numbers.size()));
  const std::size_t axes = levels.size() < all.size() || all.empty() ? 0 : lows.size() / all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].owner = {ranks[i], numbers[i]};
    if (axes == 0) continue;
    all[i].level = levels[i];
    const auto low = lows.begin() + static_cast<std::ptrdiff_t>(i * axes);
    all[i].low.assign(low, low + static_cast<std::ptrdiff_t>(axes));
  }
  return all;
}

BlockRecords::BlockRecords(hid_t file, const std::string& variable, StoredBlockTable& table)
    : file_(file), name_(variable), table_(&table) {
  if (text_attribute(open_dataset(file, variable), "leat_layout", "") == "varying")
    counts_ = RowTable(file, variable, "_count");
  else
    whole_ = behind(extents_in(file, variable));
}

std::vector<StoredBlock> BlockRecords::row(hsize_t row) {
  const StoredBlockTable::Range range = table_->row(row);
  std::vector<StoredBlock> blocks;
  hsize_t record = range.first;
  for (const BlockEntry& entry : table_->entries(range)) blocks.push_back({entry.owner, record++});
  if (counts_.exists())
    place_ragged(&blocks, range);
  else
    place_of_one_size(&blocks);
  return blocks;
}

void BlockRecords::place_of_one_size(std::vector<StoredBlock>* blocks) {
  // They are made when there is something to say.
  if (!stored_.exists()) stored_ = RowTable(file_, name_, kStoredSuffix);
  if (!extents_.exists()) extents_ = RowTable(file_, name_, "_extent");
  const auto is_missing = [&](const StoredBlock& block) {
    if (!stored_.exists()) return false;
    const std::vector<std::int64_t> flag = stored_.row(block.record);
    return flag.empty() || flag[0] == 0;
  };
  blocks->erase(std::remove_if(blocks->begin(), blocks->end(), is_missing), blocks->end());
  for (StoredBlock& block : *blocks) {
    block.first = block.record;
    block.count = 1;
    block.fills_place = fills_place(block.record);
  }
}

void BlockRecords::place_ragged(std::vector<StoredBlock>* blocks,
                                const StoredBlockTable::Range& range) {
  if (range.first < next_record_) next_record_ = next_element_ = 0;
  for (const std::int64_t count : counts_.rows(next_record_, range.first - next_record_))
    next_element_ += static_cast<hsize_t>(std::max<std::int64_t>(0, count));
  next_record_ = range.first;
  const std::vector<std::int64_t> counts = counts_.rows(range.first, range.count);
  hsize_t at = next_element_;
  std::vector<StoredBlock> here;
  for (StoredBlock& block : *blocks) {
    const std::size_t i = block.record - range.first;
    if (i >= counts.size() || counts[i] < 0) continue;
    block.first = at;
    block.count = static_cast<hsize_t>(counts[i]);
    at += block.count;
    here.push_back(block);
  }
  *blocks = std::move(here);
}

bool BlockRecords::fills_place(hsize_t record) {
  if (!extents_.exists()) return true;
  const std::vector<std::int64_t> extents = extents_.row(record);
  for (std::size_t d = 0; d < extents.size() && d < whole_.size(); ++d) {
    if (static_cast<hsize_t>(extents[d]) != whole_[d]) return false;
  }
  return true;
}

}  // namespace leat::hdf5

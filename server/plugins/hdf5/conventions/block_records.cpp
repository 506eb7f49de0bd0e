// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/block_records.hpp"

#include <algorithm>
#include <stdexcept>

#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5 {

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
    : file_(file), ranks_name_(table_of(file, name, "_rank")) {
  if (ranks_name_.empty()) throw std::runtime_error("the file has no " + name + "_rank");
  ranks_ = RowTable(file, ranks_name_, true);
  numbers_ = RowTable(file, table_of(file, name, "_number"), true);
  const auto open = [&](RowTable* list, const char* suffix) {
    const std::string there = table_of(file, name, suffix);
    if (!there.empty()) *list = RowTable(file, there, true);
  };
  open(&levels_, kLevelSuffix);
  open(&lows_, kFirstCellSuffix);
  counts_name_ = table_of(file, name, "_count");
  if (!counts_name_.empty()) counts_ = RowTable(file, counts_name_, true);
}

bool StoredBlockTable::has_row_of_several() {
  if (counts_name_.empty()) return extents_in(file_, ranks_name_)[0] > 1;
  const std::vector<std::int64_t> counts = integers_of(file_, counts_name_);
  return std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count > 1; });
}

StoredBlockTable::Range StoredBlockTable::row(hsize_t row) {
  if (!counts_.exists()) return {0, extents_in(file_, ranks_name_)[0]};
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
  const auto open = [&](const char* suffix) {
    const std::string name = table_of(file, variable, suffix);
    return name.empty() ? RowTable() : RowTable(file, name, true);
  };
  const bool varies = text_attribute(open_dataset(file, variable), "leat_layout", "") == "varying";
  if (varies) {
    counts_ = open("_count");
    return;
  }
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

// Tables that are made when there is something to say.
void BlockRecords::look_for_tables() {
  const auto look = [&](RowTable* table, const char* suffix) {
    if (table->exists()) return;
    if (const std::string name = table_of(file_, name_, suffix); !name.empty())
      *table = RowTable(file_, name, true);
  };
  look(&stored_, kStoredSuffix);
  look(&extents_, "_extent");
}

void BlockRecords::place_of_one_size(std::vector<StoredBlock>* blocks) {
  look_for_tables();
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

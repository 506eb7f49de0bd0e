// SPDX-License-Identifier: Apache-2.0
// Tables that a store writes beside the values: what they say of themselves, and how they are read.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/block_table.hpp"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"

namespace leat::hdf5 {

// The group of the store's own tables, "leat": tools that read the root only, and people who look
// for variables, need not see them.

/// "leat/", with '_' behind the name where a dataset has it, or one of `taken` is to get it.
inline std::string own_group(hid_t file, const std::set<std::string>& taken = {}) {
  std::string name = "leat";
  while (taken.count(name) > 0 || is_dataset(file, name)) name += "_";
  return name + "/";
}

// Where the blocks of a global array belong, in a file that has some of them: "<variable>_region",
// (record, numbers). A record holds from its row on until the next one of the same rank and block;
// a block that is always at one place has one record. Numbers: row, rank, block, slot; for each
// dimension the start in the global array; for each the count, all 0 for "is not there any more";
// for each the global extent. What has no dimensions has -1 - slot for its slot when it is not there any more.

struct SubArray {
  std::int64_t row = 0, rank = 0, block = 0, slot = 0;
  Shape start, count, global;
  bool has_left = false;  ///< where no count can say so

  bool is_there() const {
    if (has_left) return false;
    for (const hsize_t n : count) {
      if (n == 0) return false;
    }
    return true;
  }
  bool lies_like(const SubArray& other) const {
    return start == other.start && count == other.count && global == other.global &&
           has_left == other.has_left;
  }
  void leave() {
    count = start = Shape(count.size(), 0);
    has_left = count.empty();
  }
};

/// Attribute of a variable that is stored so.
inline constexpr const char* kPatches = "leat_patches";

inline constexpr std::size_t kSubArrayHead = 4;

inline std::size_t numbers_of_sub_array(std::size_t dims) { return kSubArrayHead + 3 * dims; }

inline std::vector<std::int64_t> record_of(const SubArray& sub_array) {
  const std::int64_t slot = sub_array.has_left ? -1 - sub_array.slot : sub_array.slot;
  std::vector<std::int64_t> record{sub_array.row, sub_array.rank, sub_array.block, slot};
  for (const Shape* numbers : {&sub_array.start, &sub_array.count, &sub_array.global})
    record.insert(record.end(), numbers->begin(), numbers->end());
  return record;
}

inline SubArray sub_array_of_record(const std::int64_t* record, std::size_t dims) {
  SubArray sub_array{record[0], record[1], record[2], record[3], {}, {}, {}};
  sub_array.has_left = sub_array.slot < 0;
  if (sub_array.has_left) sub_array.slot = -1 - sub_array.slot;
  const std::int64_t* at = record + kSubArrayHead;
  for (Shape* numbers : {&sub_array.start, &sub_array.count, &sub_array.global}) {
    numbers->assign(at, at + dims);
    at += dims;
  }
  return sub_array;
}

// Reads the tables that a store has written beside the values: of a part, a view or a whole file.

/// In which row of the file something was written that does not vary in time. Nothing else says so.
inline constexpr const char* kFirstRow = "leat_row";

inline void note_first_row(hid_t dataset, hsize_t row) {
  set_attribute(dataset, kFirstRow, static_cast<std::int64_t>(row));
}

/// 0 where it is not noted.
inline hsize_t first_row(hid_t dataset) {
  return static_cast<hsize_t>(integer_attribute(dataset, kFirstRow, 0));
}

/// All integers of a dataset; `extents`, when given, gets its shape.
std::vector<std::int64_t> integers_of(hid_t file, const std::string& name,
                                      Shape* extents = nullptr);
/// Name of what stands beside a variable, "<variable><suffix>" with '_' behind it where that is a
/// variable too; "" when the file has none.
std::string table_of(hid_t file, const std::string& variable, const std::string& suffix);
/// Name of what rows are called after, the scale of their dimension: the numbers of iterations, or
/// the times; "" in a file that has no row yet.
std::string scale_of_rows(hid_t file);
/// Name of the coordinate that they have beside it; "" for none.
std::string coordinate_of_rows(hid_t file);
/// Name of their times; "" for none.
std::string name_of_times(hid_t file);
/// All numbers of a list of doubles.
std::vector<double> doubles_of(hid_t file, const std::string& name);
/// What stands for the time of each row: the simulation's, where it has said one, else the number
/// of the iteration. `iterations`: those numbers.
std::vector<double> times_of_rows(hid_t file, const std::vector<std::int64_t>& iterations);

/// Whole numbers that stand beside a variable, row by row: "<variable>_rank", "_written", ... Kept
/// open, and some rows are read ahead where they are there, so that asking for each row of a long
/// run costs a few reads.
class RowTable {
 public:
  RowTable() = default;
  /// "<variable><suffix>"; one that the file has not does not exist.
  RowTable(hid_t file, const std::string& variable, const std::string& suffix);
  const std::string& name() const { return name_; }
  bool exists() const { return data_.is_open(); }
  /// Rows that it has by now.
  hsize_t size() const { return exists() ? extents_of(data_)[0] : 0; }
  /// {} where the table is shorter. A row may be asked for when nothing is written to it any more.
  std::vector<std::int64_t> row(hsize_t row);
  /// `count` rows from `first` on, one behind the other; fewer where the table is shorter.
  std::vector<std::int64_t> rows(hsize_t first, hsize_t count);

 private:
  void read_from(hsize_t row);

  Id data_;
  std::string name_;
  hsize_t first_ = 0, count_ = 0, width_ = 0;  // of the rows in values_
  std::vector<std::int64_t> values_;
};

// What the store's own tables say of themselves, in its files and in views of them.

/// "<variable><suffix>", integers that say something of a variable's blocks.
struct TableKind {
  std::string suffix, about;  ///< `about`: its long_name
  std::int64_t nothing = -1;  ///< what is there where no block is
  std::int64_t largest = 0;   ///< of what is known to come when it is made
  bool is_own = false;        ///< lies in the group of the store's own tables
};

TableKind counts_of_blocks(std::int64_t largest);
TableKind extents_of_blocks(std::int64_t largest);
TableKind extents_of_arrays(std::int64_t largest);

/// Yes or no for each iteration, or block.
struct MaskKind {
  std::string about;     ///< its long_name
  std::string meanings;  ///< a word for 0 and one for 1
};

MaskKind written_mask_of(const std::string& variable);
inline constexpr const char* kStoredSuffix = "_stored";
MaskKind stored_blocks_of(const std::string& variable);

/// Writes the attributes of a new table of `variable`; `coordinates` as for set_coordinates().
void describe_table(const Dataset& table, const std::string& variable, const TableKind& kind,
                    const std::string& coordinates);
/// The same for flags. Source: CF Conventions 1.8, section 3.5, "Flags".
void describe_mask(const Dataset& flags, const MaskKind& kind, const std::string& coordinates);
/// A list of int8 along the iterations, 1 or 0, of `length` zeros when it is new.
Dataset open_mask(const Target& target, const std::string& name, const MaskKind& kind,
                  hsize_t length = 0);

// Reads what a BlockTable and the tables of a variable say: which blocks it has in each row of a
// file, and where they lie.

/// "<block>_rank" and so on, of a table that is called `name`.
class StoredBlockTable {
 public:
  StoredBlockTable() = default;
  StoredBlockTable(hid_t file, const std::string& name);
  bool exists() const { return ranks_.exists(); }
  /// False of what does not vary in time.
  bool has_rows() const { return counts_.exists(); }
  /// Blocks of a row, from a first one on; all of them, in row 0, of what does not vary in time.
  struct Range {
    hsize_t first = 0, count = 0;
  };
  Range row(hsize_t row);
  /// Rows that something is said of; 0 of what does not vary in time.
  hsize_t rows() const { return counts_.size(); }
  std::vector<BlockEntry> entries(const Range& range);

 private:
  RowTable ranks_, numbers_, counts_, levels_, lows_;
  std::vector<hsize_t> starts_{0};  // of the rows asked for so far, and of the next
};

/// Those of one file, each read once for all variables that share it. To be kept no longer than the
/// file is open.
class StoredBlockTables {
 public:
  StoredBlockTable& of(hid_t file, const std::string& name) {
    return all_.try_emplace(name, file, name).first->second;
  }

 private:
  std::map<std::string, StoredBlockTable> all_;
};

struct StoredBlock {
  BlockOwner owner;
  hsize_t record = 0;       ///< in the table
  hsize_t first = 0;        ///< element of the first dimension at which it begins
  hsize_t count = 0;        ///< elements of that; 1 of blocks of one size
  bool fills_place = true;  ///< false: it is smaller than others
};

class BlockRecords {
 public:
  /// Of a variable that is stored in the blocks of this table, which outlives it.
  BlockRecords(hid_t file, const std::string& variable, StoredBlockTable& table);
  /// Of one row that was written, in the order in which they lie there. A row may be asked for when
  /// nothing is written to it any more.
  std::vector<StoredBlock> row(hsize_t row);
  StoredBlockTable& table() { return *table_; }

 private:
  void place_of_one_size(std::vector<StoredBlock>* blocks);
  void place_ragged(std::vector<StoredBlock>* blocks, const StoredBlockTable::Range& range);
  bool fills_place(hsize_t record);

  hid_t file_;
  std::string name_;
  StoredBlockTable* table_;
  RowTable counts_, extents_, stored_;
  Shape whole_;  // extents of a place
  hsize_t next_record_ = 0, next_element_ = 0;
};

/// All that a table called `name` may consist of, in `file`: names, "" for what it has not.
std::vector<std::string> lists_of_table(hid_t file, const std::string& name);
/// Name of a variable's table; "" for none: it is not stored in blocks.
std::string block_table_of(hid_t file, const std::string& variable);

}  // namespace leat::hdf5

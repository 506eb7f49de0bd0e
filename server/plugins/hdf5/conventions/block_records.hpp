// SPDX-License-Identifier: Apache-2.0
// Reads what a BlockTable and the tables of a variable say: which blocks it has in each row of a
// file, and where they lie.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/plugins/hdf5/conventions/block_table.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5 {

/// "<block>_rank" and so on, of a table that is called `name`.
class StoredBlockTable {
 public:
  StoredBlockTable() = default;
  StoredBlockTable(hid_t file, const std::string& name);
  bool exists() const { return ranks_.exists(); }
  /// Blocks of a row, from a first one on; all of them, in row 0, of what does not vary in time.
  struct Range {
    hsize_t first = 0, count = 0;
  };
  Range row(hsize_t row);
  /// Rows that something is said of; 0 of what does not vary in time.
  hsize_t rows() const { return counts_name_.empty() ? 0 : extents_in(file_, counts_name_)[0]; }
  bool has_row_of_several();
  std::vector<BlockEntry> entries(const Range& range);

 private:
  hid_t file_ = 0;
  RowTable ranks_, numbers_, counts_, levels_, lows_;
  std::string ranks_name_, counts_name_;
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
  void look_for_tables();
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

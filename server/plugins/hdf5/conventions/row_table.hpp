// SPDX-License-Identifier: Apache-2.0
// Whole numbers that stand beside a variable, row by row: "<variable>_rank", "_written", ... Kept
// open, and some rows are read ahead where they are there, so that asking for each row of a long
// run costs a few reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/shape.hpp"

namespace leat::hdf5 {

class RowTable {
 public:
  RowTable() = default;
  /// `has_rows`: false for one that is of a variable which does not vary in time. A file that has
  /// none of this name has no rows of it.
  RowTable(hid_t file, const std::string& name, bool has_rows);
  bool exists() const { return data_.is_open(); }
  /// {} where the table is shorter. A row may be asked for when nothing is written to it any more.
  std::vector<std::int64_t> row(hsize_t row);

 private:
  void read_from(hsize_t row);

  Id data_;
  std::string name_;
  bool has_rows_ = true;
  hsize_t first_ = 0, count_ = 0, width_ = 0;  // of the rows in values_
  std::vector<std::int64_t> values_;
};

}  // namespace leat::hdf5

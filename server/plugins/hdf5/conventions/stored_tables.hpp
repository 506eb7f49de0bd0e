// SPDX-License-Identifier: Apache-2.0
// Reads the tables that a store has written beside the values: of a part, a view or a whole file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

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
  /// `has_rows`: false for one that is of a variable which does not vary in time. A file that has
  /// none of this name has no rows of it.
  RowTable(hid_t file, const std::string& name, bool has_rows);
  bool exists() const { return data_.is_open(); }
  /// {} where the table is shorter. A row may be asked for when nothing is written to it any more.
  std::vector<std::int64_t> row(hsize_t row);
  /// `count` rows from `first` on, one behind the other; fewer where the table is shorter.
  std::vector<std::int64_t> rows(hsize_t first, hsize_t count);

 private:
  void read_from(hsize_t row);

  Id data_;
  std::string name_;
  bool has_rows_ = true;
  hsize_t first_ = 0, count_ = 0, width_ = 0;  // of the rows in values_
  std::vector<std::int64_t> values_;
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// What /VTKHDF is made of: groups, lists with an entry for each step, and variables shown as one list of elements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5::vtk {

// What /VTKHDF is made of: groups, attributes that change, lists with an entry for each step, and
// virtual datasets that show a variable of this file in the shape that VTK reads.
// Source: VTKHDF file format specification (docs.vtk.org); "HDF5 virtual dataset" (The HDF Group).

/// Where the group is made, and of what. `values` has the same variables and tables as `file`, and
/// is what their values are read from: `file` itself where HDF5 can do that. It outlives what works
/// with it.
struct Target {
  hid_t file, values;
  const leat_run& run;
  /// Of `values`; copies have the same ones.
  std::shared_ptr<StoredBlockTables> tables = std::make_shared<StoredBlockTables>();
};

/// Opens the group or makes it, with those above it; members are known in the order of their
/// creation, as VTK wants it for collections.
Id group_at(hid_t file, const std::string& path);

/// A text of fixed length: what all versions of VTK read. It stays as it is made.
void put_text(hid_t object, const char* name, const std::string& text);

/// Entries of 64 bits, one for each step or part, or several columns of the same value. What was
/// not put is 0. Entries that follow each other wait in memory, for steps may come by the thousand:
/// they are in the file after flush().
inline constexpr hsize_t kStepsAtOnce = 64;  // in a chunk

class List {
 public:
  List() = default;
  List(hid_t file, const std::string& name, hsize_t columns = 0, hsize_t chunk = kStepsAtOnce);
  void put(hsize_t at, std::int64_t value);
  /// Several, in a list of one column.
  void put(hsize_t at, const std::vector<std::int64_t>& values);
  /// Makes it at least that long, with flush().
  void grow_to(hsize_t length);
  void flush();
  bool exists() const { return data_.exists(); }
  hsize_t length() const { return length_; }
  std::vector<std::int64_t> all() const;

 private:
  void write(hsize_t at, const std::vector<std::int64_t>& values);

  Dataset data_;
  hsize_t columns_ = 0;
  hsize_t length_ = 0, first_waiting_ = 0;
  std::vector<std::int64_t> waiting_;
};

/// A part of a virtual dataset: `count` elements from `start` on are, in the order of C, those of
/// the dataset `source` of this file from `from` on, or all. `space` may be larger than what that
/// has by now: what is read beyond it is fill value.
struct Shown {
  std::string source;
  Shape space;
  Shape start, count;
  Shape from = {};
};
/// One that has no name yet; `name`: that it is to have. `fill`: one element of `type`, or empty for
/// zeros.
Id virtual_dataset(hid_t file, const std::string& name, hid_t type, const Shape& extents,
                   const std::vector<Shown>& parts, const std::vector<std::uint8_t>& fill);

/// One that has as many rows as its sources have, which grow. `parts`: of a row; each source is shown from its first row on.
Id virtual_rows(hid_t file, const std::string& name, hid_t type, const Shape& row,
                const std::vector<Shown>& parts, const std::vector<std::uint8_t>& fill);

/// In the place of what has the name. What is new is made before: where there is no room for that, the
/// old one stays.
void give_name(hid_t object, hid_t file, const std::string& name);

// Datasets of this file that grow by rows, as one list of elements: what VTK reads. One that is such
// a list already is linked as it is. Others are shown by a virtual dataset. Those of HDF5 that grow
// by themselves cannot make one dimension of several, and a larger one is no way out: other tools
// read all that a dataset says it has. So the list is replaced by a longer one when its sources
// outgrow it.

/// A dataset of rows with `row` extents each, or of one row; the list has them one behind the other.
struct FlatSource {
  std::string name;
  Shape row;
  bool has_rows = true;
  hsize_t elements = 1;                ///< of a row
  hsize_t components = 1, column = 0;  ///< of an element, from this column of the list on
};

class FlatList {
 public:
  /// `sources` have as many elements in a row each. `columns`: 0 for a list of one dimension.
  /// `fill`: one element of `type`, a leat_type, or empty for zeros.
  FlatList(const Target& target, std::vector<FlatSource> sources, std::uint32_t type,
           hsize_t columns, std::vector<std::uint8_t> fill = {});

  /// It is to show so many elements of its sources at least, with the next show().
  void need(hsize_t elements);
  /// It is to have so many fill values before those.
  void need_in_front(hsize_t elements);
  /// Makes `path`, goes on with what is there, or replaces that: by one that has room for as much
  /// again, but for no more than kMostRoom. True when begin() has changed by it.
  bool show(const std::string& path);
  /// Its sources grow no more: it shows them, and has no room.
  void finish(const std::string& path);
  /// Fill values in front of what it shows.
  hsize_t begin() const { return front_; }

 private:
  void resume(const std::string& path);
  bool is_list_already() const;
  void replace(const std::string& path, hsize_t rows, hsize_t front);
  hsize_t rows_of_sources() const;

  Target target_;
  std::vector<FlatSource> sources_;
  std::uint32_t type_;
  hsize_t columns_;
  std::vector<std::uint8_t> fill_;
  bool is_known_ = false;  // what is in the file
  bool is_linked_ = false;
  hsize_t rows_ = 0, front_ = 0;
  hsize_t rows_needed_ = 1, front_needed_ = 0;
};

/// Bytes that a list may be longer than its sources, in a run that goes on.
inline constexpr hsize_t kMostRoom = hsize_t{1} << 20;

}  // namespace leat::hdf5::vtk

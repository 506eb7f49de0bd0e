// SPDX-License-Identifier: Apache-2.0
// Datasets of this file that grow by rows, as one list of elements: what VTK reads. One that is such
// a list already is linked as it is. Others are shown by a virtual dataset. Those of HDF5 that grow
// by themselves cannot make one dimension of several, and a larger one is no way out: other tools
// read all that a dataset says it has. So the list is replaced by a longer one when its sources
// outgrow it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/vtkhdf/tools.hpp"

namespace leat::hdf5::vtk {

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
  void take_up(const std::string& path);
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

// SPDX-License-Identifier: Apache-2.0
// Boxes of a global array, each of which lies in some part: the rows are the first dimension, of
// length 1 for what does not vary in time.
#pragma once

#include <vector>

#include "server/plugins/hdf5/conventions/sub_array_table.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {

struct Box {
  std::size_t part = 0;
  std::int64_t rank = 0, block = 0, slot = 0;
  Shape from;            ///< in the slot: row of the part, then the place in the sub-array
  Shape to, count;       ///< in the global array: row of the view, ...
  hsize_t row_step = 1;  ///< from one row of the view to the next
};

/// A sub-array for the rows [from, upto) of its part.
struct SubArrayRows {
  SubArray sub_array;
  hsize_t from = 0, upto = 0;
};

/// The table "<variable>_region" of a part, rows resolved; `rows`: how many the part has.
std::vector<SubArrayRows> sub_arrays_of(hid_t file, const std::string& table, std::size_t dims,
                                        bool constant, hsize_t rows);

/// Where boxes overlap, only that of the highest rank and block is left, as if they had been
/// written in this order. Returns whether there were any.
bool remove_overlaps(std::vector<Box>* boxes);

}  // namespace leat::hdf5

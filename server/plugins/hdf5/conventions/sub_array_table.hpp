// SPDX-License-Identifier: Apache-2.0
// Where the blocks of a global array belong, in a file that has some of them: "<variable>_region",
// (record, numbers). A record holds from its row on until the next one of the same rank and block;
// a block that is always at one place has one record. Numbers: row, rank, block, slot; for each
// dimension the start in the global array; for each the count, all 0 for "is not there any more";
// for each the global extent.
#pragma once

#include <cstdint>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

struct SubArray {
  std::int64_t row = 0, rank = 0, block = 0, slot = 0;
  Shape start, count, global;

  bool is_there() const {
    for (const hsize_t n : count) {
      if (n == 0) return false;
    }
    return true;
  }
  bool lies_like(const SubArray& other) const {
    return start == other.start && count == other.count && global == other.global;
  }
};

inline constexpr std::size_t kSubArrayHead = 4;

inline std::size_t numbers_of_sub_array(std::size_t dims) { return kSubArrayHead + 3 * dims; }

inline std::vector<std::int64_t> record_of(const SubArray& sub_array) {
  std::vector<std::int64_t> record{sub_array.row, sub_array.rank, sub_array.block, sub_array.slot};
  for (const Shape* numbers : {&sub_array.start, &sub_array.count, &sub_array.global})
    record.insert(record.end(), numbers->begin(), numbers->end());
  return record;
}

inline SubArray sub_array_of_record(const std::int64_t* record, std::size_t dims) {
  SubArray sub_array{record[0], record[1], record[2], record[3], {}, {}, {}};
  const std::int64_t* at = record + kSubArrayHead;
  for (Shape* numbers : {&sub_array.start, &sub_array.count, &sub_array.global}) {
    numbers->assign(at, at + dims);
    at += dims;
  }
  return sub_array;
}

}  // namespace leat::hdf5

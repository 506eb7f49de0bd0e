// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/conventions/sub_array_table.hpp"

namespace leat::hdf5 {

/// Blocks that are parts of a global array, of which this server has some: the others are in the
/// files of other servers. The dataset is (iteration, slot, dims...), a slot for each block, ghosts
/// left out, so that a file has no more bytes than its server got, however the blocks lie;
/// "<variable>_region" says where each belongs (SubArrayTable). The view shows the global array.
class SubArrayWriter : public Writer {
 public:
  SubArrayWriter(const Target& target, const leat_variable& variable, const BlockList& first);
  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override;
  void grow_to_rows(hsize_t rows) override;

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // rank and block

  SubArray sub_array_of(const leat_block& block) const;
  void make_data(const Shape& extents);
  void write_block(hsize_t row, const leat_block& block, const SubArray& sub_array);
  void close_others(hsize_t row, const BlockList& blocks);
  std::int64_t slot_of(const Key& key) const;
  void note(hsize_t row, SubArray sub_array);

  Axes axes_;
  const leat_variable& variable_;
  Dataset data_, table_;
  std::map<Key, SubArray> now_;  // the last one said of each block
  hsize_t records_ = 0;
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

/// Blocks of one size, without their ghosts, that have no place in a global array. When a run of
/// one rank starts with one block, each iteration is that block. Otherwise each block has a slot,
/// and tables say whose it is: "<variable>_rank" and "<variable>_block", (iteration, slot), -1
/// where a slot is empty. Blocks that are smaller than others fill a part of their slot, and
/// "<variable>_extent" (iteration, slot, dims) says which.
class SlotWriter : public Writer {
 public:
  SlotWriter(const Target& target, const leat_variable& variable, const BlockList& first);
  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override;
  void grow_to_rows(hsize_t rows) override;

 private:
  void expect_room_in_tables(const BlockList& blocks) const;
  void write_slots(hsize_t row, const BlockList& blocks);
  void write_single(hsize_t row, const BlockList& blocks, BlockErrors* errors);
  void make_slots(const Shape& extents);

  Axes axes_;
  const leat_variable& variable_;
  bool single_;
  Shape first_extents_;
  Dataset data_, ranks_, numbers_, sizes_;
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

/// Blocks whose size varies, as a contiguous ragged array: "<variable>" has the blocks of all
/// iterations one after the other, by iteration, rank and block. "<variable>_count" (iteration,
/// slot) says how many elements of the first dimension each has, 0 where a slot is empty, so that
/// its sums are places in "<variable>"; "<variable>_rank" and "<variable>_block" say whose it is,
/// -1 where a slot is empty. When another dimension than the first varies, blocks are flattened,
/// counts are of single elements, and
/// "<variable>_extent" (iteration, slot, dims) has their shapes.
/// Source of the form: CF Conventions 1.8, section 9.3.3, "Contiguous ragged array representation".
class RaggedWriter : public Writer {
 public:
  RaggedWriter(const Target& target, const leat_variable& variable, const BlockList& first);
  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override;
  void grow_to_rows(hsize_t rows) override;

 private:
  struct Tables {
    std::vector<std::int64_t> counts, ranks, numbers, extents;
  };

  void make_data(const BlockList& first);
  std::int64_t largest_of(const leat_block& block) const;
  hsize_t sum_of_counts() const;
  hsize_t rows_of(const BlockList& blocks) const;
  void append(hsize_t at, const leat_block& block, Tables* tables);
  void write_tables(hsize_t row, hsize_t slots, const Tables& tables);

  Axes axes_;
  const leat_variable& variable_;
  bool flat_;
  Shape rest_;  // extents of a block's fixed dimensions, behind the first
  hsize_t total_ =
      0;  // elements of the first dimension, of all iterations that are whole in the file
  Dataset data_, counts_, ranks_, numbers_, extents_;
};

}  // namespace leat::hdf5

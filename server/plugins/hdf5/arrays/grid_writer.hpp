// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

/// Blocks that are parts of a global array. When its shape changes during the run the dataset has
/// the largest one, and
/// "<variable>_global" (iteration, dims) has the shape of each iteration.
class GridWriter : public Writer {
 public:
  GridWriter(const Target& target, const leat_variable& variable, const BlockList& first);
  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override;
  void grow_to_rows(hsize_t rows) override;

 private:
  void write_block(hsize_t row, const leat_block& block);
  void make_globals(std::int64_t largest);
  void note_global(hsize_t row, const Shape& global);

  Axes axes_;
  const leat_variable& variable_;
  Shape first_global_;  // as long as it is all there was; then globals_ exists
  Dataset data_, globals_;
};

}  // namespace leat::hdf5

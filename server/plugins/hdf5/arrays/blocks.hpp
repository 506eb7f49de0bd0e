// SPDX-License-Identifier: Apache-2.0
// Blocks of an iteration: whether they make sense, which tables of blocks they go to, and small ones on their way
// together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/conventions/block_table.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

// In which order a store writes them.

/// For each variable: what gives dimensions their coordinates comes before what only names them.
std::vector<int> places_of(const leat_run& run);
/// A list for each variable.
std::vector<BlockList> by_variable_of(const leat_iteration_data& data,
                                      const std::vector<int>& places);

// What a block says of itself is checked before anything is read from its memory or sized by it.

/// Throws when the extents of `block` are no sizes or are not those of its data, or when it does
/// not lie inside the global array of its variable, or at no place of its amr mesh; `amr`: none for
/// a variable on no such.
void check_block(const leat_variable& variable, const leat_block& block, const leat_mesh* amr);

/// Cells of the block in dimension `d` that are no ghosts; 0 for a block without any.
std::int64_t own_cells(const leat_variable& variable, const leat_block& block, unsigned d);
/// The same of all dimensions.
Shape own_extents(const leat_variable& variable, const leat_block& block);
/// Where they lie in its memory.
MemoryPart own_part(const leat_variable& variable, const leat_block& block);

// What the tables of blocks are told before an iteration is written: whose blocks come.

/// Of what is to be written in row `row`; `pending`: numbers of the last rows before, which the
/// scale of the iterations does not have yet.
void begin_blocks(const Target& target, const std::vector<SoundBlocks>& sound, hsize_t row,
                  std::int64_t iteration, const std::vector<std::int64_t>& pending);

/// The variable is in the file already.
void resume_blocks(const Target& target, std::uint32_t variable, hsize_t rows);

// Blocks on their way to a dataset in which they lie one behind the other along its first dimension.
// A call of HDF5 costs as much as the copy of some 64 KiB: small ones go with those beside them.

class RowBuffer {
 public:
  /// Of a dataset that outlives this, and of which each block has all but the first dimension, or
  /// is written alone.
  explicit RowBuffer(Dataset* to);
  /// `count` elements from `start` on, from a part of an array in memory. Throws when just this could
  /// not be written.
  void add(const Shape& start, const Shape& count, const void* data, const MemoryPart& memory);
  /// Nothing is written for certain before. Throws when some of those that went together were not.
  void flush();

 private:
  void write_waiting();
  bool fits(const Shape& start, const Shape& count, std::uint64_t bytes) const;

  Dataset& to_;
  std::uint64_t element_;
  hsize_t first_ = 0, waiting_ = 0;  // of the first dimension
  std::vector<char> values_;
  std::string failed_;
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Blocks of an iteration before they are written: whether they make sense, and which tables of blocks they go to.
#pragma once

#include <cstdint>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/conventions/block_table.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

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

/// Of what is to be written in row `row`; `unsaid`: numbers of the last rows before, which the
/// scale of the iterations does not have yet.
void begin_blocks(const Target& target, const std::vector<SoundBlocks>& sound, hsize_t row,
                  std::int64_t iteration, const std::vector<std::int64_t>& unsaid);

/// The variable is in the file already.
void take_up_blocks(const Target& target, std::uint32_t variable, hsize_t rows);

}  // namespace leat::hdf5

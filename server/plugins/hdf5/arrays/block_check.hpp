// SPDX-License-Identifier: Apache-2.0
// What a block says of itself is checked before anything is read from its memory or sized by it.
#pragma once

#include <cstdint>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

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

}  // namespace leat::hdf5

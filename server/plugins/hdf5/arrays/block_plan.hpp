// SPDX-License-Identifier: Apache-2.0
// What the tables of blocks are told before an iteration is written: whose blocks come.
#pragma once

#include <cstdint>
#include <vector>

#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/conventions/block_table.hpp"

namespace leat::hdf5 {

/// Of what is to be written in row `row`; `unsaid`: numbers of the last rows before, which the
/// scale of the iterations does not have yet.
void begin_blocks(const Target& target, const std::vector<SoundBlocks>& sound, hsize_t row,
                  std::int64_t iteration, const std::vector<std::int64_t>& unsaid);

/// The variable is in the file already.
void take_up_blocks(const Target& target, std::uint32_t variable, hsize_t rows);

}  // namespace leat::hdf5

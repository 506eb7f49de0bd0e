// SPDX-License-Identifier: Apache-2.0
// The index of a CellOrder in a file with layout="damaris": whose part of it is where, so that a server that takes over
// finds what the one before it has seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

/// Beside the values: rank, number, position and length of each block, of one dimension. Nothing where
/// blocks lie on each other: then not all of their values are there.
void note_parts(hid_t dataset, const leat_variable& variable, const BlockList& blocks);

struct IndexPart {
  std::int32_t rank;
  std::uint32_t block;
  std::vector<std::int64_t> places;
};
/// Those of a variable in a file; none where it has nothing of that kind.
std::vector<IndexPart> stored_parts(hid_t file, const std::string& variable);

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Fills a block with what a checkpoint has of its cells, whichever blocks those were in.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "client-api/session/checkpoint_source.hpp"
#include "client-api/session/packing.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/layout.hpp"

namespace leat::client {

/// What is to be filled: `array`, whose data are written, and where it lies in this run.
struct FilledBlock {
  ArrayView array;
  bool column_major = false;  ///< the caller's array: for messages
  shm::Place place = shm::Place::none;
  std::int32_t rank = 0, ranks = 1;
  std::uint32_t block = 0;
  std::array<std::int64_t, kMaxDims> position{};  ///< in_global: of its first cell that is no ghost
  std::array<std::int64_t, kMaxDims> ghosts_before{}, ghosts_behind{}, global{};
};

/// Cells outside of the global array stay as they are. An error says whether others have been filled. `name`: of the
/// variable, which `source` has with its blocks.
Result<void> fill_from(const CheckpointSource& source, const std::string& name,
                       const FilledBlock& block);

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// Whether blocks are still what the simulation handed over. Reads all of their data: for the
// pipeline's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/session/iteration.hpp"

namespace leat::server {

struct ChangedBlock {
  Block block;
  std::uint32_t now = 0;  ///< the CRC-32C that its bytes have
};

/// Those whose bytes do not have their checksum. A block without one is never among them.
std::vector<ChangedBlock> changed_blocks(const Iteration& iteration);

/// Takes those out, before any store gets them; the iteration is not complete then. Their holds
/// stay as they are.
std::vector<BlockProblem> take_out_changed(Iteration* iteration);

/// Of one that had its checksum when the stores got it.
BlockProblem changed_while_stored(const ChangedBlock& changed,
                                  const std::vector<std::string>& stores);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/checksums.hpp"

#include <fmt/format.h>

#include "lib/platform/crc32c.hpp"

namespace leat::server {
namespace {

BlockProblem problem_of(const Block& block, std::string what) {
  return {block.client, block.rank, block.variable, block.block, std::move(what), block.bytes};
}

}  // namespace

std::vector<ChangedBlock> changed_blocks(const Iteration& iteration) {
  std::vector<ChangedBlock> changed;
  for (const Block& block : iteration.blocks) {
    if (!block.checksum) continue;
    const std::uint32_t now = platform::crc32c(block.data, block.bytes);
    if (now != *block.checksum) changed.push_back({block, now});
  }
  return changed;
}

std::vector<BlockProblem> take_out_changed(Iteration* iteration) {
  std::vector<BlockProblem> problems;
  for (const ChangedBlock& changed : changed_blocks(*iteration)) {
    problems.push_back(problem_of(
        changed.block,
        fmt::format("block {} had CRC-32C {:08x} when it was handed over, its bytes now have "
                    "{:08x}: something has written into them; no store gets it",
                    changed.block.block, *changed.block.checksum, changed.now)));
    std::erase_if(iteration->blocks,
                  [&](const Block& block) { return block.data == changed.block.data; });
    iteration->complete = false;
  }
  return problems;
}

BlockProblem changed_while_stored(const ChangedBlock& changed,
                                  const std::vector<std::string>& stores) {
  return problem_of(
      changed.block,
      fmt::format("block {} is stored ({}), but its bytes changed while it was being stored: "
                  "CRC-32C {:08x} before, {:08x} now; what the stores have of it may be wrong",
                  changed.block.block, fmt::join(stores, ", "), *changed.block.checksum,
                  changed.now));
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/spill/spilled_blocks.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <new>

#include "lib/base/bytes.hpp"
#include "lib/platform/memory.hpp"
#include "server/spill/spill_file.hpp"

namespace leat::server {
namespace {

constexpr std::align_val_t kAlignment{kBlockAlignment};

std::uint64_t room_for(const Block& block) { return round_up(block.bytes, kBlockAlignment); }

}  // namespace

void SpilledBlocks::Free::operator()(char* memory) const noexcept {
  ::operator delete(memory, kAlignment);
}

SpilledBlocks::SpilledBlocks(Iteration* iteration) : iteration_(iteration) {
  std::uint64_t bytes = 0;
  bool any = false;
  for (const Block& block : iteration->blocks) {
    if (!block.file) continue;
    any = true;
    bytes += room_for(block);
  }
  if (!any) return;
  memory_.reset(static_cast<char*>(::operator new(bytes + 1, kAlignment, std::nothrow)));
  const std::string no_memory =
      memory_ ? ""
              : "no memory is left to read " + platform::format_bytes(bytes) + " from the disk";
  char* at = memory_.get();
  for (Block& block : iteration->blocks) {
    if (!block.file) continue;
    const std::string why = at ? block.file->read(block.place, at) : no_memory;
    if (!why.empty()) {
      problems_.push_back({block.client, block.rank, block.variable, block.block,
                           fmt::format("block {} is lost: {}", block.block, why), block.bytes});
      continue;
    }
    block.data = at;
    at += room_for(block);
  }
  const auto is_lost = [](const Block& block) { return block.file && !block.data; };
  if (std::erase_if(iteration->blocks, is_lost) > 0) iteration->complete = false;
}

SpilledBlocks::~SpilledBlocks() {
  for (Block& block : iteration_->blocks) {
    if (block.file) block.data = nullptr;
  }
}

}  // namespace leat::server

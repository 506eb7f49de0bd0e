// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/constants_file.hpp"

#include "lib/base/bytes.hpp"
#include "lib/platform/memory_file.hpp"

namespace leat::server {

ConstantsFile::ConstantsFile() : file_(platform::memory_file("leat-constants")) {}

void ConstantsFile::keep(const Block& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Block kept = block;
  kept.lease = end_;
  if (!platform::write_at(file_.get(), block.data, block.bytes, end_)) return;
  end_ += round_up(block.bytes, kBlockAlignment);
  blocks_[{block.variable, block.rank, block.block}] = kept;
}

std::vector<Block> ConstantsFile::blocks() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Block> all;
  for (const auto& [key, block] : blocks_) all.push_back(block);
  return all;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/constants_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace leat::server {
namespace {

constexpr std::uint64_t kAlignment = 64;

bool write_whole(int file, const void* data, std::uint64_t bytes, std::uint64_t at) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = pwrite(file, from, bytes, static_cast<off_t>(at));
    if (n <= 0) return false;
    from += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

}  // namespace

ConstantsFile::ConstantsFile() : file_(memfd_create("leat-constants", MFD_CLOEXEC)) {}

void ConstantsFile::keep(const Block& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Block kept = block;
  kept.lease = end_;
  if (!write_whole(file_.get(), block.data, block.bytes, end_)) return;
  end_ += (block.bytes + kAlignment - 1) / kAlignment * kAlignment;
  blocks_[{block.variable, block.rank, block.block}] = kept;
}

std::vector<Block> ConstantsFile::blocks() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Block> all;
  for (const auto& [key, block] : blocks_) all.push_back(block);
  return all;
}

}  // namespace leat::server

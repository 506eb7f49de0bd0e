// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/extent_arena.hpp"

namespace leat::shm {

std::uint64_t ExtentArena::block_bytes(std::uint64_t data_bytes) noexcept {
  std::uint64_t bytes = 0;
  const std::uint64_t extra = sizeof(BlockHeader) + kCacheLine - 1;
  if (__builtin_add_overflow(data_bytes, extra, &bytes)) return 0;
  return bytes / kCacheLine * kCacheLine;
}

std::uint64_t ExtentArena::cut(std::uint64_t bytes) noexcept {
  if (current_.bytes - used_ < bytes) return 0;
  const std::uint64_t offset = current_.offset + used_;
  used_ += bytes;
  ++blocks_;
  return offset;
}

bool ExtentArena::uncut(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const bool is_last =
      blocks_ > 0 && bytes <= used_ && offset == current_.offset + (used_ - bytes);
  if (!is_last) return false;
  used_ -= bytes;
  --blocks_;
  return true;
}

bool ExtentArena::add(Extent extent) noexcept {
  if (current_.bytes == 0) {
    current_ = extent;
    used_ = blocks_ = 0;
  } else if (spare_.bytes == 0) {
    spare_ = extent;
  } else {
    return false;
  }
  return true;
}

bool ExtentArena::replace(Seal* seal) noexcept {
  if (spare_.bytes == 0) return false;
  *seal = Seal{current_.offset, blocks_};
  current_ = spare_;
  spare_ = Extent{};
  used_ = blocks_ = 0;
  return true;
}

bool ExtentArena::runs_low() const noexcept {
  return spare_.bytes == 0 && used_ > current_.bytes / 2;
}

}  // namespace leat::shm

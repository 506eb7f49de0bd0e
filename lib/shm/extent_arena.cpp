// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/extent_arena.hpp"

namespace leat::shm {

bool ExtentArena::uncut(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const bool is_last = blocks_ > 0 && bytes <= used_ && offset == current_.offset + (used_ - bytes);
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

}  // namespace leat::shm

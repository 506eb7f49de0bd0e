// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/region_arena.hpp"

namespace leat::shm {

bool RegionArena::uncut(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const bool is_last = blocks_ > 0 && bytes <= used_ && offset == current_.offset + (used_ - bytes);
  if (!is_last) return false;
  used_ -= bytes;
  --blocks_;
  return true;
}

bool RegionArena::add(Region region) noexcept {
  if (current_.bytes == 0) {
    current_ = region;
    used_ = blocks_ = 0;
  } else if (spare_.bytes == 0) {
    spare_ = region;
  } else {
    return false;
  }
  return true;
}

bool RegionArena::replace(Seal* seal) noexcept {
  if (spare_.bytes == 0) return false;
  *seal = Seal{current_.offset, blocks_};
  current_ = spare_;
  spare_ = Region{};
  used_ = blocks_ = 0;
  return true;
}

}  // namespace leat::shm

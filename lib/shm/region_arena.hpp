// SPDX-License-Identifier: Apache-2.0
// A client's allocator: cuts blocks from the regions that the server leased to it, by advancing an offset.
// It never frees: when a region has no room left it is sealed, which tells the server how many blocks were cut from
// it, and the server takes it back once all of them are released. So memory that one rank does not use goes back to all
// without that rank's doing, even while it waits inside its own simulation.
// Private to the client process, not thread safe (the session's mutex is held), no system calls, no heap.
#pragma once

#include <cstdint>

#include "lib/shm/layout.hpp"

namespace leat::shm {

struct Region {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// What to tell the server about a region that is used up.
struct Seal {
  std::uint64_t offset = 0;
  std::uint64_t blocks = 0;
};

class RegionArena {
 public:
  explicit RegionArena(std::uint64_t region_bytes) noexcept : region_bytes_(region_bytes) {}

  /// Bytes that a block of `data_bytes` takes, header and padding included; 0 when that does not fit into 64 bits.
  static std::uint64_t block_bytes(std::uint64_t data_bytes) noexcept {
    std::uint64_t bytes = 0;
    const std::uint64_t extra = sizeof(BlockHeader) + kCacheLine - 1;
    if (__builtin_add_overflow(data_bytes, extra, &bytes)) return 0;
    return bytes / kCacheLine * kCacheLine;
  }

  /// Blocks above a quarter of a common region get a region of their own: cutting them would waste too much.
  bool needs_own_region(std::uint64_t bytes) const noexcept { return bytes > region_bytes_ / 4; }

  /// Offset of `bytes` (from block_bytes) in the current region, or 0 when it must be replaced first. Offset 0 is the
  /// segment's header, never a block.
  std::uint64_t cut(std::uint64_t bytes) noexcept {
    if (current_.bytes - used_ < bytes) return 0;
    const std::uint64_t offset = current_.offset + used_;
    used_ += bytes;
    ++blocks_;
    return offset;
  }

  /// Takes back what was cut, when that was the last: as if it had not been. False, with nothing
  /// changed, when it was not, or not from the current region.
  bool uncut(std::uint64_t offset, std::uint64_t bytes) noexcept;

  /// A leased common region arrives: becomes current when there is none, spare otherwise. False when both are there:
  /// the caller gives it back.
  bool add(Region region) noexcept;

  /// Puts the spare in the place of the current region. False, with nothing changed, when there is no spare.
  /// `*seal` is what to tell the server; its offset is 0 when there was no current region.
  bool replace(Seal* seal) noexcept;

  Region current() const noexcept { return current_; }
  Region spare() const noexcept { return spare_; }

  /// More than half of the current region is used and there is no spare: time to ask for one ahead.
  bool runs_low() const noexcept { return spare_.bytes == 0 && used_ > current_.bytes / 2; }

 private:
  std::uint64_t region_bytes_;
  Region current_, spare_;
  std::uint64_t used_ = 0;
  std::uint64_t blocks_ = 0;
};

}  // namespace leat::shm

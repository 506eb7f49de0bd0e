// SPDX-License-Identifier: Apache-2.0
// The server's view of the data part of a segment: which ranges are free. Private to the server, not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "lib/shm/extent_arena.hpp"

namespace leat::shm {

class LeasePool {
 public:
  /// Manages [offset, offset + bytes), both multiples of `unit`.
  LeasePool(std::uint64_t offset, std::uint64_t bytes, std::uint64_t unit);

  /// Both give nothing for 0 bytes and for more than there is in all: sizes are a client's word.
  /// Common extents come from the low end, where memory was used a moment ago and is warm in the caches.
  std::optional<Extent> take_low(std::uint64_t bytes);
  /// Large ones come from the high end, so that small ones do not cut up their space.
  std::optional<Extent> take_high(std::uint64_t bytes);
  /// This very range, of whole units. False, and nothing is taken, when some of it is not free.
  bool take_at(Extent extent);
  /// Gives back what was taken, whole.
  void give_back(Extent extent);

  std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  /// `bytes` rounded up to whole units.
  std::uint64_t round_up(std::uint64_t bytes) const noexcept;

 private:
  bool possible(std::uint64_t bytes) const noexcept { return bytes > 0 && bytes <= total_bytes_; }
  Extent carve(std::map<std::uint64_t, std::uint64_t>::iterator range, std::uint64_t offset,
               std::uint64_t bytes);

  std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes, never two that touch
  std::uint64_t unit_;
  std::uint64_t total_bytes_;
  std::uint64_t free_bytes_;
};

}  // namespace leat::shm

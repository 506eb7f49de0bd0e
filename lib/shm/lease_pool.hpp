// SPDX-License-Identifier: Apache-2.0
// The server's view of the data part of a segment: which ranges are free. Private to the server,
// not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/shm/region_arena.hpp"

namespace leat::shm {

class LeasePool {
 public:
  /// Manages [offset, offset + bytes), both multiples of `unit`.
  LeasePool(std::uint64_t offset, std::uint64_t bytes, std::uint64_t unit);

  /// Both give nothing for 0 bytes and for more than there is in all: sizes are a client's word.
  /// Nor do they as long as memory is missing where they would take it. Common regions come from
  /// the low end, where memory was used a moment ago and is warm in the caches.
  /// All look into the ranges of `near` first, and everywhere when it fits into none of them.
  std::optional<Region> take_low(std::uint64_t bytes, const std::vector<Region>& near = {}) {
    return take(place_low(bytes, near));
  }
  /// Large ones come from the high end, so that small ones do not cut up their space; and from the
  /// last of `near`.
  std::optional<Region> take_high(std::uint64_t bytes, const std::vector<Region>& near = {}) {
    return take(place_high(bytes, near));
  }
  /// Where they would take it.
  std::optional<Region> place_low(std::uint64_t bytes, const std::vector<Region>& near = {}) const;
  std::optional<Region> place_high(std::uint64_t bytes, const std::vector<Region>& near = {}) const;
  /// This very range, of whole units. False, and nothing is taken, when some of it is not free.
  bool take_at(Region region);
  /// Gives back what was taken, whole.
  void give_back(Region region);

  /// There is no memory yet for what is free now.
  void withhold() { missing_ = free_; }
  bool is_missing(Region region) const noexcept;
  /// Ranges for which there is no memory yet.
  std::vector<Region> missing() const;
  /// There is memory now for this part of what is missing.
  void supply(Region part);
  /// There is none for it, and will be none.
  void forfeit(Region part);

  std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  /// `bytes` rounded up to whole units.
  std::uint64_t round_up(std::uint64_t bytes) const noexcept;

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;  // offset -> bytes, never two that touch

  bool possible(std::uint64_t bytes) const noexcept { return bytes > 0 && bytes <= total_bytes_; }
  std::optional<Region> place_low_in(Region range, std::uint64_t bytes) const;
  std::optional<Region> place_high_in(Region range, std::uint64_t bytes) const;
  static void cut(Ranges* ranges, Ranges::iterator range, Region part);
  static Ranges::iterator find(Ranges* ranges, Region part);
  std::optional<Region> take(std::optional<Region> place);

  Ranges free_;
  Ranges missing_;  // of what is free
  Region all_;
  std::uint64_t unit_;
  std::uint64_t total_bytes_;
  std::uint64_t free_bytes_;
};

}  // namespace leat::shm

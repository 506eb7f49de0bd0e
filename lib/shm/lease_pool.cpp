// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/lease_pool.hpp"

#include <algorithm>
#include <iterator>

#include "lib/base/bytes.hpp"

namespace leat::shm {

LeasePool::LeasePool(std::uint64_t offset, std::uint64_t bytes, std::uint64_t unit)
    : all_{offset, bytes}, unit_(unit), total_bytes_(bytes), free_bytes_(bytes) {
  if (bytes > 0) free_[offset] = bytes;
}

std::uint64_t LeasePool::round_up(std::uint64_t bytes) const noexcept {
  return leat::round_up(bytes, unit_);
}

void LeasePool::cut(Ranges* ranges, Ranges::iterator range, Region part) {
  const std::uint64_t begin = range->first, end = begin + range->second;
  const std::uint64_t part_end = part.offset + part.bytes;
  ranges->erase(range);
  if (part.offset > begin) (*ranges)[begin] = part.offset - begin;
  if (part_end < end) (*ranges)[part_end] = end - part_end;
}

// The range that holds all of `part`; end() when there is none.
LeasePool::Ranges::iterator LeasePool::find(Ranges* ranges, Region part) {
  auto range = ranges->upper_bound(part.offset);
  if (range == ranges->begin()) return ranges->end();
  --range;
  const std::uint64_t skipped = part.offset - range->first;
  const bool holds = skipped <= range->second && part.bytes <= range->second - skipped;
  return holds ? range : ranges->end();
}

std::optional<Region> LeasePool::take(std::optional<Region> place) {
  if (!place || is_missing(*place)) return std::nullopt;
  cut(&free_, find(&free_, *place), *place);
  free_bytes_ -= place->bytes;
  return place;
}

std::optional<Region> LeasePool::place_low(std::uint64_t bytes,
                                           const std::vector<Region>& near) const {
  if (!possible(bytes)) return std::nullopt;
  bytes = round_up(bytes);
  for (const Region& range : near) {
    if (const std::optional<Region> place = place_low_in(range, bytes)) return place;
  }
  return place_low_in(all_, bytes);
}

std::optional<Region> LeasePool::place_high(std::uint64_t bytes,
                                            const std::vector<Region>& near) const {
  if (!possible(bytes)) return std::nullopt;
  bytes = round_up(bytes);
  for (auto range = near.rbegin(); range != near.rend(); ++range) {
    if (const std::optional<Region> place = place_high_in(*range, bytes)) return place;
  }
  return place_high_in(all_, bytes);
}

std::optional<Region> LeasePool::place_low_in(Region range, std::uint64_t bytes) const {
  const std::uint64_t range_end = range.offset + range.bytes;
  auto free = free_.upper_bound(range.offset);
  if (free != free_.begin()) --free;  // it may reach into the range
  for (; free != free_.end() && free->first < range_end; ++free) {
    const std::uint64_t begin = std::max(free->first, range.offset);
    const std::uint64_t end = std::min(free->first + free->second, range_end);
    if (end > begin && end - begin >= bytes) return Region{begin, bytes};
  }
  return std::nullopt;
}

std::optional<Region> LeasePool::place_high_in(Region range, std::uint64_t bytes) const {
  const std::uint64_t range_end = range.offset + range.bytes;
  for (auto after = free_.lower_bound(range_end); after != free_.begin();) {
    --after;
    const std::uint64_t begin = std::max(after->first, range.offset);
    const std::uint64_t end = std::min(after->first + after->second, range_end);
    if (end <= range.offset) break;
    if (end > begin && end - begin >= bytes) return Region{end - bytes, bytes};
  }
  return std::nullopt;
}

bool LeasePool::take_at(Region region) {
  if (!possible(region.bytes) || region.bytes % unit_ != 0 || region.offset % unit_ != 0)
    return false;
  const auto range = find(&free_, region);
  if (range == free_.end()) return false;
  cut(&free_, range, region);
  free_bytes_ -= region.bytes;
  return true;
}

void LeasePool::give_back(Region region) {
  free_bytes_ += region.bytes;
  auto next = free_.lower_bound(region.offset);
  if (next != free_.end() && region.offset + region.bytes == next->first) {
    region.bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == region.offset) {
      before->second += region.bytes;
      return;
    }
  }
  free_[region.offset] = region.bytes;
}

bool LeasePool::is_missing(Region region) const noexcept {
  const auto after = missing_.lower_bound(region.offset + region.bytes);
  if (after == missing_.begin()) return false;
  const auto last = std::prev(after);
  return last->first + last->second > region.offset;
}

std::vector<Region> LeasePool::missing() const {
  std::vector<Region> all;
  for (const auto& [offset, bytes] : missing_) all.push_back({offset, bytes});
  return all;
}

void LeasePool::supply(Region part) {
  const auto range = find(&missing_, part);
  if (range != missing_.end()) cut(&missing_, range, part);
}

void LeasePool::forfeit(Region part) {
  const auto range = find(&missing_, part);
  if (range == missing_.end()) return;
  cut(&missing_, range, part);
  cut(&free_, find(&free_, part), part);
  free_bytes_ -= part.bytes;
  total_bytes_ -= part.bytes;
}

}  // namespace leat::shm

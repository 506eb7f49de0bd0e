// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/lease_pool.hpp"

#include <iterator>

namespace leat::shm {

LeasePool::LeasePool(std::uint64_t offset, std::uint64_t bytes, std::uint64_t unit)
    : unit_(unit), total_bytes_(bytes), free_bytes_(bytes) {
  if (bytes > 0) free_[offset] = bytes;
}

std::uint64_t LeasePool::round_up(std::uint64_t bytes) const noexcept {
  return (bytes + unit_ - 1) / unit_ * unit_;
}

Extent LeasePool::carve(std::map<std::uint64_t, std::uint64_t>::iterator range,
                        std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t begin = range->first, end = begin + range->second;
  free_.erase(range);
  if (offset > begin) free_[begin] = offset - begin;
  if (offset + bytes < end) free_[offset + bytes] = end - offset - bytes;
  free_bytes_ -= bytes;
  return Extent{offset, bytes};
}

std::optional<Extent> LeasePool::take_low(std::uint64_t bytes) {
  if (!possible(bytes)) return std::nullopt;
  bytes = round_up(bytes);
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->second >= bytes) return carve(range, range->first, bytes);
  }
  return std::nullopt;
}

std::optional<Extent> LeasePool::take_high(std::uint64_t bytes) {
  if (!possible(bytes)) return std::nullopt;
  bytes = round_up(bytes);
  for (auto range = free_.end(); range != free_.begin();) {
    --range;
    if (range->second >= bytes) return carve(range, range->first + range->second - bytes, bytes);
  }
  return std::nullopt;
}

bool LeasePool::take_at(Extent extent) {
  if (!possible(extent.bytes) || extent.bytes % unit_ != 0 || extent.offset % unit_ != 0)
    return false;
  auto range = free_.upper_bound(extent.offset);
  if (range == free_.begin()) return false;
  --range;
  const std::uint64_t skipped = extent.offset - range->first;
  if (skipped > range->second || extent.bytes > range->second - skipped) return false;
  carve(range, extent.offset, extent.bytes);
  return true;
}

void LeasePool::give_back(Extent extent) {
  free_bytes_ += extent.bytes;
  auto next = free_.lower_bound(extent.offset);
  if (next != free_.end() && extent.offset + extent.bytes == next->first) {
    extent.bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == extent.offset) {
      before->second += extent.bytes;
      return;
    }
  }
  free_[extent.offset] = extent.bytes;
}

}  // namespace leat::shm

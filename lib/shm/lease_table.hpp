// SPDX-License-Identifier: Apache-2.0
// Which regions are leased, for a server that takes over: LeaseRecords, kept in step by the one
// that has the segment. And what a client has put into a region, as the headers of its blocks say
// it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/shm/region_arena.hpp"
#include "lib/shm/segment.hpp"

namespace leat::shm {

struct Lease {
  Region region;
  std::uint32_t client = 0;
  std::uint32_t flags = 0;  ///< LeaseFlags
  std::uint64_t id = 0;
};

/// A block that a client has made in a region; what it says of itself is a client's word.
struct FoundBlock {
  std::uint64_t offset = 0;  ///< of its header
  BlockHeader header{};      ///< a copy
};

class LeaseTable {
 public:
  explicit LeaseTable(const Segment& segment);

  /// Before the client is told of it.
  void note(Region region, std::uint32_t client, std::uint32_t flags) noexcept;
  /// Before it is given to somebody else.
  void clear(std::uint64_t offset) noexcept;
  /// Of the lease of the region that begins at `offset`; 0: there is none.
  std::uint64_t id_at(std::uint64_t offset) const noexcept {
    const LeaseRecord* record = record_at(offset);
    return record ? record->id.load(std::memory_order_acquire) : 0;
  }

  std::vector<Lease> all() const;
  /// All that were cut from the region so far, in order.
  std::vector<FoundBlock> blocks_in(const Lease& lease) const;

 private:
  LeaseRecord* record_at(std::uint64_t offset) const noexcept {
    const std::uint64_t unit = (offset - data_offset_) >> unit_shift_;  // huge when offset is less
    return unit >= records_.size() ? nullptr : &records_[unit];
  }

  const Segment& segment_;
  std::span<LeaseRecord> records_;
  std::uint64_t data_offset_;
  int unit_shift_;  // a division less for each block that is cut
};

}  // namespace leat::shm

// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/lease_table.hpp"

#include <bit>

namespace leat::shm {

LeaseTable::LeaseTable(const Segment& segment)
    : segment_(segment),
      records_(segment.leases()),
      data_offset_(segment.header().data_offset),
      unit_shift_(std::countr_zero(segment.header().unit_bytes)) {}

void LeaseTable::note(Region region, std::uint32_t client, std::uint32_t flags) noexcept {
  LeaseRecord* record = record_at(region.offset);
  if (!record) return;
  const std::uint64_t id =
      segment_.server_state().last_lease.fetch_add(1, std::memory_order_relaxed) + 1;
  record->bytes = region.bytes;
  record->client = client;
  record->flags = flags;
  // Release: who sees the id, sees what it stands for.
  record->id.store(id, std::memory_order_release);
}

void LeaseTable::clear(std::uint64_t offset) noexcept {
  if (LeaseRecord* record = record_at(offset)) record->id.store(0, std::memory_order_release);
}

std::vector<Lease> LeaseTable::all() const {
  std::vector<Lease> leases;
  const SegmentHeader& header = segment_.header();
  for (std::size_t unit = 0; unit < records_.size(); ++unit) {
    const LeaseRecord& record = records_[unit];
    const std::uint64_t id = record.id.load(std::memory_order_acquire);
    if (id == 0 || record.client >= header.client_count) continue;
    const Region region{header.data_offset + unit * header.unit_bytes, record.bytes};
    leases.push_back({region, record.client, record.flags, id});
  }
  return leases;
}

// What lies behind the last block is of an earlier lease of the same memory, and has its id.
std::vector<FoundBlock> LeaseTable::blocks_in(const Lease& lease) const {
  std::vector<FoundBlock> found;
  const std::uint64_t end = lease.region.offset + lease.region.bytes;
  std::uint64_t at = lease.region.offset;
  while (end - at >= sizeof(BlockHeader)) {
    auto* live = segment_.at<BlockHeader>(at);
    // Acquire: the id is the last word that the client writes of it.
    const std::uint64_t id = std::atomic_ref(live->lease).load(std::memory_order_acquire);
    if (id != lease.id) break;
    found.push_back({at, *live});
    const std::uint64_t bytes = RegionArena::block_bytes(found.back().header.data_bytes);
    if (bytes == 0 || bytes > end - at || (lease.flags & kLeaseOwn) != 0) break;
    at += bytes;
  }
  return found;
}

}  // namespace leat::shm

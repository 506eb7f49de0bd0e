// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/leases.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "lib/base/text.hpp"

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

namespace {

// Of what is wanted; blocks of varying size may still use what is there.
constexpr std::uint64_t kMostWaste = 4;

}  // namespace

void OfferGiver::offer(Region region, std::uint32_t flags) noexcept {
  region_ = region;
  flags_ = flags;
  slot_->offset.store(region.offset, std::memory_order_relaxed);
  slot_->bytes.store(region.bytes, std::memory_order_relaxed);
  slot_->flags.store(flags, std::memory_order_relaxed);
  offered_ = with_state(slot_->decision.load(std::memory_order_relaxed) + 4, OfferState::offered);
  // Release: whoever sees the offer sees what is offered.
  slot_->decision.store(offered_, std::memory_order_release);
}

bool OfferGiver::stands() const noexcept {
  return offered_ != 0 && slot_->decision.load(std::memory_order_relaxed) == offered_;
}

bool OfferGiver::withdraw() noexcept {
  std::uint64_t expected = offered_;
  if (offered_ == 0) return false;
  offered_ = 0;
  return slot_->decision.compare_exchange_strong(expected,
                                                 with_state(expected, OfferState::withdrawn));
}

Region OfferGiver::take_over() noexcept {
  offered_ = slot_->decision.load(std::memory_order_acquire);
  region_ = {slot_->offset.load(std::memory_order_relaxed),
             slot_->bytes.load(std::memory_order_relaxed)};
  if (offer_state(offered_) != OfferState::offered) offered_ = 0;
  return withdraw() ? region_ : Region{};
}

// Regions are rounded up to whole units in any case.
bool OfferReader::fits(std::uint64_t offered, std::uint64_t wanted) const noexcept {
  return offered >= wanted && offered - wanted <= wanted / kMostWaste + unit_bytes_;
}

Region OfferReader::claim(std::uint64_t bytes, std::uint32_t flags) noexcept {
  for (std::uint32_t i = 0; i < kOffers; ++i) {
    OfferSlot& slot = slots_[(next_ + i) % kOffers];
    std::uint64_t decision = slot.decision.load(std::memory_order_acquire);
    if (offer_state(decision) != OfferState::offered) continue;
    const Region region{slot.offset.load(std::memory_order_relaxed),
                        slot.bytes.load(std::memory_order_relaxed)};
    const bool is_such = slot.flags.load(std::memory_order_relaxed) == flags;
    if (!is_such || !fits(region.bytes, bytes)) continue;
    // Fails when it was withdrawn meanwhile, and so too when what was read of it was torn.
    if (!slot.decision.compare_exchange_strong(decision, with_state(decision, OfferState::claimed)))
      continue;
    next_ = (next_ + i + 1) % kOffers;
    return region;
  }
  return {};
}

}  // namespace leat::shm

// SPDX-License-Identifier: Apache-2.0
// Regions of the segment: which are free, leased, offered, and how a client cuts blocks from one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "lib/shm/layout.hpp"
#include "lib/shm/segment.hpp"

namespace leat::shm {

// A client's allocator: cuts blocks from the regions that the server leased to it, by advancing an offset.
// It never frees: when a region has no room left it is sealed, which tells the server how many blocks were cut from
// it, and the server takes it back once all of them are released. So memory that one rank does not use goes back to all
// without that rank's doing, even while it waits inside its own simulation.
// Private to the client process, not thread safe (the session's mutex is held), no system calls, no heap.
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

// The server's view of the data part of a segment: which ranges are free. Private to the server,
// not thread safe.
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

// Which regions are leased, for a server that takes over: LeaseRecords, kept in step by the one
// that has the segment. And what a client has put into a region, as the headers of its blocks say
// it.
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

// Memory that the server gives a client before it is asked for, so that a write which is like one of
// the iteration before finds its memory there: no request, no answer, no sleep.
//
// An offer is a region that is leased to the client already, in the lease table too. The client may
// claim it; as long as it has not, the server may withdraw it, when somebody needs the memory now.
// Both leave `offered` by compare-and-swap, so exactly one of them has it, wherever either is killed
// or stopped; the sequence in the same word keeps one who was stopped from taking a later offer for
// the one that it had looked at. A server that takes over withdraws all that are still offered, and
// finds those that were claimed among the leases.

constexpr OfferState offer_state(std::uint64_t decision) noexcept {
  return static_cast<OfferState>(decision % 4);
}
constexpr std::uint64_t with_state(std::uint64_t decision, OfferState state) noexcept {
  return decision / 4 * 4 + static_cast<std::uint64_t>(state);
}

/// The server's side of one slot. One thread.
class OfferGiver {
 public:
  explicit OfferGiver(OfferSlot& slot) noexcept : slot_(&slot) {}

  /// Nothing of this server's stands in the slot. `flags`: kLeaseOwn or kLeaseCommon.
  void offer(Region region, std::uint32_t flags) noexcept;
  /// Nobody has claimed what was offered last.
  bool stands() const noexcept;
  /// Takes it back. False: it does not stand any more.
  bool withdraw() noexcept;
  /// What a server that has died had offered, and nobody has claimed, taken back. The region is a
  /// word that the client can write; 0 bytes: none.
  Region take_over() noexcept;
  Region region() const noexcept { return region_; }
  std::uint32_t flags() const noexcept { return flags_; }

 private:
  OfferSlot* slot_;
  Region region_;
  std::uint32_t flags_ = 0;
  std::uint64_t offered_ = 0;  // decision; 0: none
};

/// The client's side. Private to its process; called with the session's mutex held.
class OfferReader {
 public:
  /// `unit_bytes`: as SegmentHeader has it.
  OfferReader(std::span<OfferSlot, kOffers> slots, std::uint64_t unit_bytes) noexcept
      : slots_(slots), unit_bytes_(unit_bytes) {}

  /// A region of `bytes` or little more, which is the client's from now on; 0 bytes: there is none.
  Region claim(std::uint64_t bytes, std::uint32_t flags) noexcept;

 private:
  bool fits(std::uint64_t offered, std::uint64_t wanted) const noexcept;

  std::span<OfferSlot, kOffers> slots_;
  std::uint64_t unit_bytes_;
  std::uint32_t next_ = 0;  // writes of an iteration come in the order of those before, mostly
};

}  // namespace leat::shm

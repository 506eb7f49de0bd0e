// SPDX-License-Identifier: Apache-2.0
// Memory that the server gives a client before it is asked for, so that a write which is like one of
// the iteration before finds its memory there: no request, no answer, no sleep.
//
// An offer is a region that is leased to the client already, in the lease table too. The client may
// claim it; as long as it has not, the server may withdraw it, when somebody needs the memory now.
// Both leave `offered` by compare-and-swap, so exactly one of them has it, wherever either is killed
// or stopped; the sequence in the same word keeps one who was stopped from taking a later offer for
// the one that it had looked at. A server that takes over withdraws all that are still offered, and
// finds those that were claimed among the leases.
#pragma once

#include <cstdint>
#include <span>

#include "lib/shm/layout.hpp"
#include "lib/shm/region_arena.hpp"

namespace leat::shm {

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

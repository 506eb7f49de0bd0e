// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/offers.hpp"

namespace leat::shm {
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

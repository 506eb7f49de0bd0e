// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/block_memory.hpp"

#include <algorithm>

namespace leat::client {

FirstUse::FirstUse(const char* base, std::uint64_t bytes)
    : base_(base),
      skipped_(reinterpret_cast<std::uintptr_t>(base) % kWindow),
      used_((skipped_ + bytes) / kWindow / 64 + 1) {}

// Not before `least`: what lies there may be somebody else's, and without memory.
void FirstUse::read(std::uint64_t window, std::uint64_t least) const noexcept {
  const std::uint64_t start = window * kWindow;
  const std::uint64_t offset = std::max(least, start > skipped_ ? start - skipped_ : 0);
  (void)*static_cast<const volatile char*>(base_ + offset);
}

namespace {

using shm::Event;
using shm::Release;

Event request_of(std::uint64_t bytes, std::uint32_t flags, std::int64_t iteration,
                 std::uint64_t token) noexcept {
  Event event{};
  event.kind = static_cast<std::uint32_t>(shm::EventKind::lease_request);
  event.flags = flags;
  event.iteration = iteration;
  event.bytes = bytes;
  event.token = token;
  return event;
}

}  // namespace

void LeaseRequests::begin(OwnRequest& request) noexcept {
  request.token = next_token_++;
  request.next = own_;
  own_ = &request;
}

void LeaseRequests::end(OwnRequest& request) noexcept {
  OwnRequest** link = &own_;
  while (*link != &request) link = &(*link)->next;
  *link = request.next;
}

Event LeaseRequests::event_of(const OwnRequest& request, std::int64_t iteration) noexcept {
  return request_of(request.bytes, shm::kLeaseOwn, iteration, request.token);
}

Event LeaseRequests::common_event(std::uint64_t bytes, Asked how, std::int64_t iteration) noexcept {
  const auto flags = how == Asked::ahead ? shm::kLeaseAhead : shm::kLeaseCommon;
  return request_of(bytes, flags, iteration, next_token_++);
}

void LeaseRequests::common_is_asked(std::uint64_t token, Asked how) noexcept {
  common_ = how;
  common_token_ = token;
}

// A request that has its region already has been asked once more after a failover, and the new
// server has found the first one too.
OwnRequest* LeaseRequests::take(const Release& release) noexcept {
  OwnRequest* const request = find(release.token);
  if (request && request->region.bytes == 0) {
    request->region = {release.offset, release.bytes};
    return request;
  }
  if ((release.flags & shm::kLeaseOwn) == 0) common_ = Asked::nothing;
  return nullptr;
}

void LeaseRequests::refuse(const Release& release) noexcept {
  refusal_ = {static_cast<shm::RefusalReason>(release.flags),
              static_cast<std::int64_t>(release.offset), release.bytes};
  if (OwnRequest* request = find(release.token)) {
    request->answer = Status::ERROR_FULL;
  } else if (release.token == common_token_) {
    common_refused_ = true;
    common_ = Asked::nothing;
  }
}

// The answer may be to a request of an iteration that this client has ended since.
void LeaseRequests::drop(const Release& release) noexcept {
  dropped_ = static_cast<std::int64_t>(release.offset);
  if (OwnRequest* request = find(release.token)) {
    request->answer = Status::DROPPED;
  } else if (release.token == common_token_) {
    common_ = Asked::nothing;
  }
}

void LeaseRequests::ask_again() noexcept {
  common_ = Asked::nothing;
  for (OwnRequest* request = own_; request; request = request->next) request->asked = false;
}

OwnRequest* LeaseRequests::find(std::uint64_t token) noexcept {
  OwnRequest* request = own_;
  while (request && request->token != token) request = request->next;
  return request;
}

using shm::EventKind;
using shm::ReleaseKind;
using Asked = LeaseRequests::Asked;

BlockMemory::BlockMemory(const shm::Segment& segment, const shm::ClientArea& area,
                         EventSender& events)
    : segment_(segment),
      events_(events),
      leases_(segment),
      releases_(area.releases, segment.header().release_slots, area.server->release_tail,
                area.client->release_head),
      offers_(area.offers, segment.header().unit_bytes),
      arena_(segment.header().region_bytes),
      first_use_(segment.at<char>(0), segment.header().segment_bytes) {}

bool BlockMemory::cut_anew(std::uint64_t bytes, std::uint64_t* offset) noexcept {
  take_answers();
  for (;;) {
    *offset = arena_.cut(bytes);
    if (*offset != 0) return true;
    shm::Seal full;
    if (arena_.replace(&full)) {
      lease_ = leases_.id_at(arena_.current().offset);
      seal(full);
    } else if (!claim_common()) {
      return false;
    }
  }
}

std::uint64_t BlockMemory::begin_own(const OwnRequest& request, std::uint64_t data_bytes) noexcept {
  const std::uint64_t offset = request.region.offset;
  first_use_.of(request.region);
  stamp(offset, leases_.id_at(offset), data_bytes);
  return offset;
}

bool BlockMemory::claim_common() noexcept {
  const shm::Region region = offers_.claim(segment_.header().region_bytes, shm::kLeaseCommon);
  return region.bytes != 0 && add_common(region);
}

std::uint64_t BlockMemory::claim_own(std::uint64_t bytes) noexcept {
  const shm::Region region = offers_.claim(bytes, shm::kLeaseOwn);
  first_use_.of(region);
  return region.offset;
}

void BlockMemory::get_common_ahead(std::int64_t iteration) noexcept {
  if (claim_common() || requests_.common() != Asked::nothing || !events_.has_room()) return;
  const Event request =
      requests_.common_event(segment_.header().region_bytes, Asked::ahead, iteration);
  requests_.common_is_asked(request.token, Asked::ahead);
  events_.push_at_once(request);
}

bool BlockMemory::add_common(shm::Region region) noexcept {
  const bool is_first = arena_.current().bytes == 0;
  const bool added = arena_.add(region);
  if (added) first_use_.of(region);
  if (is_first) lease_ = leases_.id_at(region.offset);
  return added;
}

void BlockMemory::take_answers() noexcept {
  Release release;
  while (releases_.pop(release)) {
    releases_.publish();
    switch (static_cast<ReleaseKind>(release.kind)) {
      case ReleaseKind::lease:
        deliver(release);
        break;
      case ReleaseKind::refused:
        requests_.refuse(release);
        break;
      case ReleaseKind::dropped:
        requests_.drop(release);
        break;
    }
  }
}

void BlockMemory::deliver(const Release& release) noexcept {
  const shm::Region region{release.offset, release.bytes};
  if (requests_.take(release)) {
    stamp(region.offset, leases_.id_at(region.offset),
          0);  // its thread may take a while to wake up
    return;
  }
  const bool own = (release.flags & shm::kLeaseOwn) != 0;
  if (own || !add_common(region)) seal(shm::Seal{region.offset, 0});
}

void BlockMemory::seal(shm::Seal full) noexcept {
  if (full.offset == 0) return;
  Event event{};
  event.kind = static_cast<std::uint32_t>(EventKind::seal);
  event.offset = full.offset;
  event.bytes = full.blocks;
  event.token = leases_.id_at(full.offset);
  events_.tell_now(event);
}

// A server that takes over walks from header to header: the last one ends the walk, any other must
// stay, and is counted as one that came.
void BlockMemory::give_back(std::uint64_t offset) noexcept {
  auto& header = *segment_.at<shm::BlockHeader>(offset);
  const std::uint64_t bytes = shm::RegionArena::block_bytes(header.data_bytes);
  if (arena_.uncut(offset, bytes)) {
    std::atomic_ref(header.lease).store(0, std::memory_order_release);
    return;
  }
  Event event{};
  event.kind = static_cast<std::uint32_t>(EventKind::forgo);
  event.iteration = shm::kNoIteration;
  event.offset = offset;
  event.bytes = sizeof(shm::BlockHeader) + header.data_bytes;
  events_.tell_now(event);
}

// All is taken first, so that the next one learns all that is held here. It may have given
// something itself by then, which is not free again because it is not held.
HeldRegions BlockMemory::held() noexcept {
  take_answers();
  return {arena_.current(), arena_.spare()};
}

void BlockMemory::ask_again() noexcept {
  if (arena_.current().bytes != 0) lease_ = leases_.id_at(arena_.current().offset);
  requests_.ask_again();
}

}  // namespace leat::client

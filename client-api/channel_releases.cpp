// SPDX-License-Identifier: Apache-2.0
// The part of Channel that takes what the server says: leases, refusals, iterations left out.
#include "client-api/channel.hpp"

namespace leat::client {

using shm::Event;
using shm::EventKind;
using shm::Release;
using shm::ReleaseKind;

void Channel::take_releases() noexcept {
  Release release;
  while (releases_.pop(release)) {
    releases_.publish();
    switch (static_cast<ReleaseKind>(release.kind)) {
      case ReleaseKind::lease:
        deliver(release);
        break;
      case ReleaseKind::refused:
        refuse(release);
        break;
      case ReleaseKind::dropped:
        note_dropped(release);
        break;
    }
  }
}

void Channel::deliver(const Release& release) noexcept {
  const shm::Region region{release.offset, release.bytes};
  Waiter* const waiter = find_waiter(release.token);
  const bool own = (release.flags & shm::kLeaseOwn) != 0;
  // A waiter that has one already has asked once more after a failover, and the new server has
  // found its first request too.
  if (waiter && waiter->region.bytes == 0) {
    waiter->region = region;
    stamp(region.offset, region.offset, 0);  // its thread may take a while to wake up
    return;
  }
  if (!own) asked_common_ = Asked::nothing;
  if (own || !add_common(region)) seal(shm::Seal{region.offset, 0});
}

void Channel::refuse(const Release& release) noexcept {
  refusal_ = {static_cast<shm::RefusalReason>(release.flags),
              static_cast<std::int64_t>(release.offset), release.bytes};
  if (Waiter* waiter = find_waiter(release.token)) {
    waiter->answer = Status::ERROR_FULL;
  } else if (release.token == common_token_) {
    common_refused_ = true;
    asked_common_ = Asked::nothing;
  }
}

// The answer may be to a request of an iteration that this client has ended since.
void Channel::note_dropped(const Release& release) noexcept {
  dropped_ = static_cast<std::int64_t>(release.offset);
  if (Waiter* waiter = find_waiter(release.token)) {
    waiter->answer = Status::DROPPED;
  } else if (release.token == common_token_) {
    asked_common_ = Asked::nothing;
  }
}

Status Channel::drop(std::int64_t iteration) noexcept {
  dropped_ = iteration;
  Event event{};
  event.kind = static_cast<std::uint32_t>(EventKind::drop);
  event.iteration = iteration;
  tell_now(event);
  return Status::DROPPED;
}

Channel::Waiter* Channel::find_waiter(std::uint64_t token) noexcept {
  Waiter* waiter = waiters_;
  while (waiter && waiter->token != token) waiter = waiter->next;
  return waiter;
}

void Channel::forget(Waiter& waiter) noexcept {
  Waiter** link = &waiters_;
  while (*link != &waiter) link = &(*link)->next;
  *link = waiter.next;
}

}  // namespace leat::client

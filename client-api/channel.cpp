// SPDX-License-Identifier: Apache-2.0
#include "client-api/channel.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

#include "lib/platform/futex.hpp"
#include "lib/platform/local_socket.hpp"
#include "lib/platform/memory.hpp"

namespace leat::client {
namespace {

using platform::Patience;
using shm::Event;
using shm::EventKind;
using shm::Release;
using shm::ReleaseKind;

// How long a waiting call sleeps before it looks whether the server still lives.
constexpr std::int64_t kSliceNs = 100'000'000;
// Before it sleeps, a call looks this long whether what it waits for comes: waking two sleepers
// takes longer. Others that need the processor get it meanwhile.
constexpr std::int64_t kLookNs = 30'000;
// A wait of this length is worth a line on standard error.
constexpr std::int64_t kLongWaitNs = 10'000'000'000;

Event event_of(EventKind kind, std::int64_t iteration) noexcept {
  Event event{};
  event.kind = static_cast<std::uint32_t>(kind);
  event.iteration = iteration;
  return event;
}

}  // namespace

Channel::Channel(const shm::Segment& segment, std::uint32_t index, platform::UniqueFd socket,
                 platform::UniqueFd doorbell, FindSuccessor find_successor)
    : segment_(segment),
      area_(segment.client(index)),
      server_(segment.server_words()),
      socket_(std::move(socket)),
      doorbell_(std::move(doorbell)),
      find_successor_(std::move(find_successor)),
      leases_(segment),
      events_(area_.events, segment.header().event_slots, area_.client->event_tail,
              area_.server->event_head),
      releases_(area_.releases, segment.header().release_slots, area_.server->release_tail,
                area_.client->release_head),
      arena_(segment.header().extent_bytes),
      timeout_ns_(static_cast<std::int64_t>(segment.header().timeout_ns)) {}

Status Channel::push(Lock& lock, Patience& patience, const Event& event) noexcept {
  while (events_.full()) {
    const Status status = wait(lock, patience, 0);
    if (status != Status::OK) return status;
  }
  mark_handed_over(event);
  events_.push(event);
  const std::uint32_t sleep = server_.sleeps.load(std::memory_order_seq_cst);
  if (sleep % 2 == 1 && sleep != rung_for_sleep_) {
    rung_for_sleep_ = sleep;  // one ring ends it, even if the server takes a moment to get up
    const std::uint64_t one = 1;
    const ssize_t written = ::write(doorbell_.get(), &one, sizeof one);
    (void)written;  // a full counter means that the doorbell rings already
  }
  return Status::OK;
}

// The number is that of an event which is not there yet: only with both is the block handed over.
void Channel::mark_handed_over(const Event& event) noexcept {
  const auto kind = static_cast<EventKind>(event.kind);
  if (kind != EventKind::block && kind != EventKind::set_text) return;
  auto& header = *segment_.at<shm::BlockHeader>(event.offset);
  header.iteration = kind == EventKind::block ? event.iteration : shm::kNoIteration;
  std::atomic_ref(header.event).store(events_.next() + 1, std::memory_order_release);
}

void Channel::stamp(std::uint64_t offset, std::uint64_t extent, std::uint64_t data_bytes) noexcept {
  auto& header = *segment_.at<shm::BlockHeader>(offset);
  header.event = 0;
  header.data_bytes = data_bytes;
  // Release: whoever finds the lease's id here, finds the rest.
  std::atomic_ref(header.lease).store(leases_.id_at(extent), std::memory_order_release);
}

Status Channel::reserve(Lock& lock, Patience& patience, std::uint64_t data_bytes,
                        std::int64_t iteration, std::uint64_t* offset) noexcept {
  const std::uint64_t bytes = shm::ExtentArena::block_bytes(data_bytes);
  if (bytes == 0 || bytes > segment_.header().data_bytes) return Status::ERROR_TOO_LARGE;
  if (server_gone_) return Status::ERROR_SERVER;
  if (!arena_.needs_own_extent(bytes)) {
    *offset = arena_.cut(bytes);
    if (*offset != 0) {
      stamp(*offset, arena_.current().offset, data_bytes);
      // Asking ahead is worth no wait.
      const bool ask_now = arena_.runs_low() && !events_.full();
      return ask_now ? ask_common(lock, patience, Asked::ahead, iteration) : Status::OK;
    }
  }
  refusal_ = {};
  const bool own = arena_.needs_own_extent(bytes);
  const Status status = own ? reserve_own(lock, patience, bytes, iteration, offset)
                            : reserve_common(lock, patience, bytes, iteration, offset);
  if (status == Status::OK) stamp(*offset, own ? *offset : arena_.current().offset, data_bytes);
  return status;
}

Status Channel::reserve_common(Lock& lock, Patience& patience, std::uint64_t bytes,
                               std::int64_t iteration, std::uint64_t* offset) noexcept {
  common_refused_ = false;
  for (;;) {
    Status status = take_releases(lock, patience);
    if (status != Status::OK) return status;
    *offset = arena_.cut(bytes);
    if (*offset != 0) return Status::OK;
    shm::Seal full;
    if (arena_.replace(&full)) {
      status = seal(lock, patience, full);
      if (status != Status::OK) return status;
      continue;
    }
    if (is_dropped(iteration)) return Status::DROPPED;
    if (common_refused_) return Status::ERROR_FULL;
    status = ask_common(lock, patience, Asked::urgently, iteration);
    if (status == Status::OK) status = wait(lock, patience, bytes);
    if (status != Status::OK) return status;
  }
}

Status Channel::reserve_own(Lock& lock, Patience& patience, std::uint64_t bytes,
                            std::int64_t iteration, std::uint64_t* offset) noexcept {
  Waiter waiter;
  waiter.token = next_token_++;
  waiter.next = waiters_;
  waiters_ = &waiter;
  Status status = Status::OK;
  while (status == Status::OK) {
    status = take_releases(lock, patience);
    if (status != Status::OK || waiter.extent.bytes != 0) break;
    status = is_dropped(iteration) ? Status::DROPPED : waiter.answer;
    if (status == Status::OK && !std::exchange(waiter.asked, true))
      status = ask(lock, patience, bytes, shm::kLeaseOwn, iteration, waiter.token);
    if (status == Status::OK) status = wait(lock, patience, bytes);
  }
  forget(waiter);
  *offset = waiter.extent.offset;
  return waiter.extent.bytes != 0 ? Status::OK : status;
}

Status Channel::ask(Lock& lock, Patience& patience, std::uint64_t bytes, std::uint32_t flags,
                    std::int64_t iteration, std::uint64_t token) noexcept {
  Event request = event_of(EventKind::lease_request, iteration);
  request.bytes = bytes;
  request.flags = flags;
  request.token = token;
  return push(lock, patience, request);
}

Status Channel::ask_common(Lock& lock, Patience& patience, Asked how,
                           std::int64_t iteration) noexcept {
  if (asked_common_ >= how) return Status::OK;
  asked_common_ = how;
  common_token_ = next_token_++;
  const std::uint32_t flags = how == Asked::ahead ? shm::kLeaseAhead : shm::kLeaseCommon;
  return ask(lock, patience, segment_.header().extent_bytes, flags, iteration, common_token_);
}

Status Channel::seal(Lock& lock, Patience& patience, shm::Seal full) noexcept {
  if (full.offset == 0) return Status::OK;
  Event event = event_of(EventKind::seal, 0);
  event.offset = full.offset;
  event.bytes = full.blocks;
  event.token = leases_.id_at(full.offset);
  return push(lock, patience, event);
}

Status Channel::take_releases(Lock& lock, Patience& patience) noexcept {
  Status status = Status::OK;
  shm::Extent unwanted;
  while (next_release(&unwanted)) {
    if (unwanted.bytes != 0) status = seal(lock, patience, shm::Seal{unwanted.offset, 0});
  }
  return status;
}

bool Channel::next_release(shm::Extent* unwanted) noexcept {
  Release release;
  if (!releases_.pop(release)) return false;
  releases_.publish();
  *unwanted = {};
  switch (static_cast<ReleaseKind>(release.kind)) {
    case ReleaseKind::lease:
      *unwanted = deliver(release);
      break;
    case ReleaseKind::refused:
      refuse(release);
      break;
    case ReleaseKind::dropped:
      note_dropped(release);
      break;
  }
  return true;
}

shm::Extent Channel::deliver(const Release& release) noexcept {
  const shm::Extent extent{release.offset, release.bytes};
  if (Waiter* waiter = find_waiter(release.token)) {
    waiter->extent = extent;
    stamp(extent.offset, extent.offset, 0);  // its thread may take a while to wake up
    return {};
  }
  const bool own = (release.flags & shm::kLeaseOwn) != 0;
  if (own || !arena_.add(extent)) return extent;
  asked_common_ = Asked::nothing;
  return {};
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

Status Channel::drop(Lock& lock, std::int64_t iteration) noexcept {
  dropped_ = decided_ = iteration;
  Patience none(0);
  (void)push(lock, none, event_of(EventKind::drop, iteration));
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

// What a call that wants `bytes` waits for: a lease, or with 0 room in the event ring.
bool Channel::something_moved(std::uint64_t bytes) noexcept {
  return bytes == 0 ? !events_.full() : !releases_.empty();
}

bool Channel::comes_soon(std::uint64_t bytes) noexcept {
  const std::int64_t until = platform::now_ns() + kLookNs;
  do {
    if (something_moved(bytes)) return true;
    platform::give_way();
  } while (platform::now_ns() < until);
  return false;
}

Status Channel::wait(Lock& lock, Patience& patience, std::uint64_t bytes) noexcept {
  if (server_gone_) return Status::ERROR_SERVER;
  if (patience.left_ns() == 0) return Status::ERROR_FULL;
  if (comes_soon(bytes)) return Status::OK;
  say_once_that_it_waits(patience, bytes);
  ++sleepers_;
  area_.client->waiting.store(1, std::memory_order_seq_cst);
  const std::uint32_t seen = area_.server->wake.load(std::memory_order_seq_cst);
  // Looked at once more after "I wait" is visible, so that no wake-up is lost; a ring that got room
  // needs no sleep.
  if (!something_moved(bytes)) {
    lock.unlock();
    platform::futex_wait(area_.server->wake, seen, std::min(patience.left_ns(), kSliceNs));
    lock.lock();
  }
  if (--sleepers_ == 0) area_.client->waiting.store(0, std::memory_order_seq_cst);
  return check_server(patience);
}

Status Channel::check_server(Patience& patience) noexcept {
  const std::int64_t now = platform::now_ns();
  if (!server_gone_ && now - last_check_ns_ >= kSliceNs) {
    last_check_ns_ = now;
    if (platform::peer_is_gone(socket_.get())) return change_server(patience);
  }
  return server_gone_ ? Status::ERROR_SERVER : Status::OK;
}

Status Channel::change_server(Patience& patience) noexcept {
  if (server_gone_) return Status::ERROR_SERVER;
  if (patience.left_ns() == 0) return Status::OK;  // the next call looks for one
  // What dead servers have given is taken first, so that the next one learns all that is held here.
  // What nobody waits for is not in that, and so is free again.
  const auto tell_held = [this] {
    shm::Extent unwanted;
    while (next_release(&unwanted)) {
    }
    return Held{arena_.current(), arena_.spare()};
  };
  Result<Connection> next = find_successor_(tell_held, patience.left_ns());
  if (!next && next.error().status == Status::ERROR_TIMEOUT) return Status::OK;  // looked for again
  if (!next) {
    server_gone_ = true;
    why_gone_ = next.error().message;
    return Status::ERROR_SERVER;
  }
  socket_ = std::move(next->socket);
  doorbell_ = std::move(next->doorbell);
  rung_for_sleep_ = 0;
  asked_common_ = Asked::nothing;
  for (Waiter* waiter = waiters_; waiter; waiter = waiter->next) waiter->asked = false;
  return Status::OK;
}

void Channel::say_once_that_it_waits(Patience& patience, std::uint64_t bytes) noexcept {
  const bool long_wait = patience.waited_ns() >= kLongWaitNs;
  if (!long_wait || said_that_it_waits_) return;
  said_that_it_waits_ = true;
  if (bytes == 0) {
    std::fprintf(stderr, "leat: waits for the server to take events; is it stopped?\n");
  } else {
    std::fprintf(stderr,
                 "leat: waits for %s: the segment of %s is full; its log says what holds it\n",
                 platform::format_bytes(bytes).c_str(),
                 platform::format_bytes(segment_.header().data_bytes).c_str());
  }
}

}  // namespace leat::client

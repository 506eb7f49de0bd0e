// SPDX-License-Identifier: Apache-2.0
#include "client-api/channel.hpp"

#include <atomic>
#include <utility>

namespace leat::client {
namespace {

using platform::WaitBudget;
using shm::Event;
using shm::EventKind;

// Of the ring: so much fills up before the server is woken for events that have time.
constexpr std::uint32_t kQuiet = 4;

Event event_of(EventKind kind, std::int64_t iteration) noexcept {
  Event event{};
  event.kind = static_cast<std::uint32_t>(kind);
  event.iteration = iteration;
  return event;
}

Event request_of(std::uint64_t bytes, std::uint32_t flags, std::int64_t iteration,
                 std::uint64_t token) noexcept {
  Event request = event_of(EventKind::lease_request, iteration);
  request.bytes = bytes;
  request.flags = flags;
  request.token = token;
  return request;
}

}  // namespace

Channel::Channel(const shm::Segment& segment, std::uint32_t index,
                 std::unique_ptr<shm::ToServer> server, FindSuccessor find_successor)
    : segment_(segment),
      area_(segment.client(index)),
      server_(segment.server_state()),
      link_(std::move(server)),
      find_successor_(std::move(find_successor)),
      leases_(segment),
      events_(area_.events, segment.header().event_slots, area_.client->event_tail,
              area_.server->event_head),
      releases_(area_.releases, segment.header().release_slots, area_.server->release_tail,
                area_.client->release_head),
      offers_(area_.offers, segment.header().unit_bytes),
      arena_(segment.header().region_bytes),
      first_use_(segment.at<char>(0), segment.header().segment_bytes),
      timeout_ns_(static_cast<std::int64_t>(segment.header().timeout_ns)),
      most_unannounced_(segment.header().event_slots / kQuiet) {}

Status Channel::push(Lock& lock, WaitBudget& budget, Event event) noexcept {
  const Status status = await_room(lock, budget);
  if (status != Status::OK) return status;
  // Another thread may have ended the iteration while this one waited.
  if (static_cast<EventKind>(event.kind) == EventKind::block) event.iteration = iteration_;
  put(event);
  return Status::OK;
}

Status Channel::tell(Lock& lock, WaitBudget& budget, const Event& event) noexcept {
  if (!has_room()) {
    unsent_.keep(event);
    return await_room(lock, budget);
  }
  put(event);
  return Status::OK;
}

bool Channel::send_unsent() noexcept {
  while (!unsent_.empty() && !events_.full()) {
    put(unsent_.first());
    unsent_.pop_first();
  }
  return !events_.full();
}

Status Channel::await_room(Lock& lock, WaitBudget& budget) noexcept {
  while (!has_room()) {
    const Status status = wait(lock, budget, 0);
    if (status != Status::OK) return status;
  }
  return Status::OK;
}

void Channel::wake_server(bool at_once) noexcept {
  unannounced_ = 0;
  events_.announce();
  if (!at_once && server_.naps.load(std::memory_order_seq_cst) != 0) return;
  const std::uint32_t sleep = server_.sleeps.load(std::memory_order_seq_cst);
  if (sleep % 2 == 0 || sleep == rung_for_sleep_) return;
  rung_for_sleep_ = sleep;  // one ring ends it, even if the server takes a moment to get up
  link_->ring();
}

Status Channel::reserve(Lock& lock, WaitBudget& budget, std::uint64_t data_bytes,
                        std::int64_t iteration, std::uint64_t* offset) noexcept {
  if (reserve_at_once(data_bytes, iteration, offset)) return Status::OK;
  const std::uint64_t bytes = shm::RegionArena::block_bytes(data_bytes);
  if (bytes == 0 || bytes > segment_.header().data_bytes) return Status::ERROR_TOO_LARGE;
  if (server_gone_) return Status::ERROR_SERVER;
  refusal_ = {};
  const bool own = arena_.needs_own_region(bytes);
  const Status status = own ? reserve_own(lock, budget, bytes, iteration, offset)
                            : reserve_common(lock, budget, bytes, iteration, offset);
  if (status == Status::OK) stamp(*offset, own ? *offset : arena_.current().offset, data_bytes);
  return status;
}

Status Channel::reserve_common(Lock& lock, WaitBudget& budget, std::uint64_t bytes,
                               std::int64_t iteration, std::uint64_t* offset) noexcept {
  common_refused_ = false;
  for (;;) {
    take_releases();
    *offset = arena_.cut(bytes);
    if (*offset != 0) return Status::OK;
    shm::Seal full;
    if (arena_.replace(&full)) {
      seal(full);
      continue;
    }
    if (claim_common()) continue;
    if (is_dropped(iteration)) return Status::DROPPED;
    if (common_refused_) return Status::ERROR_FULL;
    Status status = ask_common(lock, budget, iteration);
    if (status == Status::OK) status = wait(lock, budget, bytes);
    // Should the answer have been lost on its way, the next call asks once more.
    if (status == Status::ERROR_FULL) asked_common_ = Asked::nothing;
    if (status != Status::OK) return status;
  }
}

Status Channel::reserve_own(Lock& lock, WaitBudget& budget, std::uint64_t bytes,
                            std::int64_t iteration, std::uint64_t* offset) noexcept {
  Waiter waiter;
  waiter.token = next_token_++;
  waiter.next = waiters_;
  waiters_ = &waiter;
  Status status = Status::OK;
  while (status == Status::OK) {
    take_releases();
    if (waiter.region.bytes != 0) break;
    status = is_dropped(iteration) ? Status::DROPPED : waiter.answer;
    if (status == Status::OK && !std::exchange(waiter.asked, true))
      status = push(lock, budget, request_of(bytes, shm::kLeaseOwn, iteration, waiter.token));
    if (status == Status::OK) status = wait(lock, budget, bytes);
  }
  forget(waiter);
  *offset = waiter.region.offset;
  first_use_.of(waiter.region);
  return waiter.region.bytes != 0 ? Status::OK : status;
}

bool Channel::claim_common() noexcept {
  const shm::Region region = offers_.claim(segment_.header().region_bytes, shm::kLeaseCommon);
  return region.bytes != 0 && add_common(region);
}

bool Channel::add_common(shm::Region region) noexcept {
  const bool added = arena_.add(region);
  if (added) first_use_.of(region);
  return added;
}

std::uint64_t Channel::claim_own(std::uint64_t bytes) noexcept {
  const shm::Region region = offers_.claim(bytes, shm::kLeaseOwn);
  first_use_.of(region);
  return region.offset;
}

Status Channel::ask_common(Lock& lock, WaitBudget& budget, std::int64_t iteration) noexcept {
  if (asked_common_ == Asked::urgently) return Status::OK;
  const std::uint64_t token = next_token_++;
  const Status status =
      push(lock, budget,
           request_of(segment_.header().region_bytes, shm::kLeaseCommon, iteration, token));
  if (status != Status::OK) return status;  // the server does not know of it
  asked_common_ = Asked::urgently;
  common_token_ = token;
  return Status::OK;
}

void Channel::get_common_ahead(std::int64_t iteration) noexcept {
  if (claim_common() || asked_common_ != Asked::nothing || !has_room()) return;
  asked_common_ = Asked::ahead;
  common_token_ = next_token_++;
  put(request_of(segment_.header().region_bytes, shm::kLeaseAhead, iteration, common_token_));
}

void Channel::seal(shm::Seal full) noexcept {
  if (full.offset == 0) return;
  Event event = event_of(EventKind::seal, 0);
  event.offset = full.offset;
  event.bytes = full.blocks;
  event.token = leases_.id_at(full.offset);
  tell_now(event);
}

// A server that takes over walks from header to header: the last one ends the walk, any other must
// stay, and is counted as one that came.
void Channel::forgo(std::uint64_t offset) noexcept {
  auto& header = *segment_.at<shm::BlockHeader>(offset);
  const std::uint64_t bytes = shm::RegionArena::block_bytes(header.data_bytes);
  if (arena_.uncut(offset, bytes)) {
    std::atomic_ref(header.lease).store(0, std::memory_order_release);
    return;
  }
  Event event = event_of(EventKind::forgo, kNoIteration);
  event.offset = offset;
  event.bytes = sizeof(shm::BlockHeader) + header.data_bytes;
  tell_now(event);
}

void Channel::tell_now(const Event& event) noexcept {
  if (has_room()) {
    put(event);
  } else {
    unsent_.keep(event);
  }
}

}  // namespace leat::client

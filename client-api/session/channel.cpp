// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/channel.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "lib/os/clock.hpp"
#include "lib/os/memory.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {
namespace {

using os::WaitBudget;

// How long a waiting call sleeps before it looks whether the server still lives.
constexpr std::int64_t kSliceNs = 100'000'000;
// Before it sleeps, a call looks this long whether what it waits for comes: waking two sleepers
// takes longer. Others that need the processor get it meanwhile.
constexpr std::int64_t kLookNs = 30'000;
// A wait of this length is worth a line on standard error.
constexpr std::int64_t kLongWaitNs = 10'000'000'000;

}  // namespace

ServerWatch::ServerWatch(const shm::Segment& segment, const shm::ClientArea& area,
                         EventSender& events, BlockMemory& memory, FindSuccessor find_successor)
    : segment_(segment),
      area_(area),
      events_(events),
      memory_(memory),
      find_successor_(std::move(find_successor)) {}

bool ServerWatch::is_settled(std::int64_t iteration) const noexcept {
  return segment_.server_state().settled_iteration.load(std::memory_order_seq_cst) >= iteration;
}

bool ServerWatch::has_come(const Awaited& awaited) noexcept {
  if (awaited.iteration >= 0) return is_settled(awaited.iteration);
  return awaited.bytes == 0 ? !events_.ring_is_full() : memory_.has_answers();
}

bool ServerWatch::comes_soon(const Awaited& awaited) noexcept {
  const std::int64_t until = os::now_ns() + kLookNs;
  do {
    if (has_come(awaited)) return true;
    os::give_way();
  } while (os::now_ns() < until);
  return false;
}

Status ServerWatch::wait(Lock& lock, WaitBudget& budget, std::uint64_t bytes) noexcept {
  return wait(lock, budget, Awaited{bytes});
}

Status ServerWatch::await_settled(Lock& lock, WaitBudget& budget, std::int64_t iteration) noexcept {
  return wait(lock, budget, Awaited{0, iteration});
}

Status ServerWatch::wait(Lock& lock, WaitBudget& budget, const Awaited& awaited) noexcept {
  if (gone_) return Status::ERROR_SERVER;
  if (budget.left_ns() == 0) return Status::ERROR_FULL;
  events_.wake_server(true);
  if (comes_soon(awaited)) return Status::OK;
  say_once_that_it_waits(budget, awaited);
  ++sleepers_;
  area_.client->waiting.store(1, std::memory_order_seq_cst);
  const std::uint32_t seen = area_.server->wake.load(std::memory_order_seq_cst);
  // Looked at once more after "I wait" is visible, so that no wake-up is lost; a ring that got room
  // needs no sleep.
  if (!has_come(awaited)) {
    lock.unlock();
    os::futex_wait(area_.server->wake, seen, std::min(budget.left_ns(), kSliceNs));
    lock.lock();
  }
  if (--sleepers_ == 0) area_.client->waiting.store(0, std::memory_order_seq_cst);
  return check(budget);
}

Status ServerWatch::check(WaitBudget& budget) noexcept {
  if (!drained_ && shm::is_drained(segment_.server_state())) {
    drained_ = gone_ = true;
    why_gone_ = shm::drain_in_words(segment_.server_state());
  }
  const std::int64_t now = os::last_tick_ns();
  if (!gone_ && now - last_check_ns_ >= kSliceNs) {
    last_check_ns_ = now;
    if (events_.link().is_gone()) return change_server(budget);
    lived_ns_ = now;
  }
  return gone_ ? Status::ERROR_SERVER : Status::OK;
}

Status ServerWatch::change_server(WaitBudget& budget) noexcept {
  if (gone_ && !drained_) return Status::ERROR_SERVER;
  if (budget.left_ns() == 0) return Status::OK;  // the next call looks for one
  // It may have been stopped before it died, for no longer than calls wait for it.
  const std::int64_t said_until_ns =
      lived_ns_ - static_cast<std::int64_t>(segment_.header().timeout_ns);
  Result<Connection> next = find_successor_([this] { return memory_.held(); }, budget.left_ns());
  if (!next && next.error().status == Status::ERROR_TIMEOUT) return Status::OK;  // looked for again
  if (!next) {
    why_gone_ = drained_ ? why_gone_ + ". Its server has ended without saying what is stored: "
                         : "the server of this node has died, and no other one can take over: ";
    why_gone_ += next.error().message;
    gone_ = true;
    drained_ = false;
    events_.print_reports(said_until_ns);
    return Status::ERROR_SERVER;
  }
  events_.connect(std::move(next->server), said_until_ns);
  memory_.ask_again();
  return Status::OK;
}

void ServerWatch::say_once_that_it_waits(WaitBudget& budget, const Awaited& awaited) noexcept {
  const bool long_wait = budget.waited_ns() >= kLongWaitNs;
  if (!long_wait || said_that_it_waits_) return;
  said_that_it_waits_ = true;
  if (awaited.iteration >= 0) {
    std::fprintf(stderr, "leat: waits until iteration %lld is stored, as its mode says\n",
                 static_cast<long long>(awaited.iteration));
  } else if (awaited.bytes == 0) {
    std::fprintf(stderr, "leat: waits for the server to take events; is it stopped?\n");
  } else {
    std::fprintf(
        stderr, "leat: waits for %s: the segment of %s is full; its log says what holds it\n",
        format_bytes(awaited.bytes).c_str(), format_bytes(segment_.header().data_bytes).c_str());
  }
}

using shm::Event;
using shm::EventKind;
using Asked = LeaseRequests::Asked;

Channel::Channel(const shm::Segment& segment, std::uint32_t index,
                 std::unique_ptr<shm::ToServer> server, FindSuccessor find_successor)
    : segment_(segment),
      area_(segment.client(index)),
      events_(segment, area_, std::move(server)),
      memory_(segment, area_, events_),
      watch_(segment, area_, events_, memory_, std::move(find_successor)),
      timeout_ns_(static_cast<std::int64_t>(segment.header().timeout_ns)),
      traced_(segment.header().traced != 0) {}

Event Channel::event_of(EventKind kind) const noexcept {
  Event event{};
  event.kind = static_cast<std::uint32_t>(kind);
  event.iteration = iteration_;
  return event;
}

Event Channel::end_event() noexcept {
  Event event = event_of(EventKind::end_iteration);
  event.at_ns = os::now_ns();
  event.inside_ns = static_cast<std::uint64_t>(std::exchange(inside_ns_, 0));
  return event;
}

// One that found no room is not kept: it would be in the way of what must arrive.
void Channel::tell_span(shm::SpanKind kind, std::int64_t iteration, std::int64_t begun_ns,
                        std::int64_t ended_ns) noexcept {
  if (!traced_) return;
  Event event = event_of(EventKind::span);
  event.subject = static_cast<std::uint32_t>(kind);
  event.block = spans_lost_;
  event.iteration = iteration;
  event.at_ns = ended_ns;
  event.inside_ns = static_cast<std::uint64_t>(ended_ns - begun_ns);
  spans_lost_ = events_.push_at_once(event) ? 0 : spans_lost_ + 1;
}

Status Channel::push(Lock& lock, WaitBudget& budget, const Event& event) noexcept {
  const Status status = await_room(lock, budget);
  if (status == Status::OK) events_.push_at_once(event);
  return status;
}

// Another thread may have ended the iteration while this one waited.
Status Channel::push_block(Lock& lock, WaitBudget& budget, std::uint64_t offset,
                           std::int64_t begun_ns) noexcept {
  const Status status = await_room(lock, budget);
  if (status == Status::OK) events_.push_block_at_once(offset, iteration_, begun_ns);
  return status;
}

Status Channel::tell(Lock& lock, WaitBudget& budget, const Event& event) noexcept {
  if (events_.push_at_once(event)) return Status::OK;
  events_.store(event);
  return await_room(lock, budget);
}

Status Channel::await_room(Lock& lock, WaitBudget& budget) noexcept {
  while (!events_.has_room()) {
    const Status status = watch_.wait(lock, budget, 0);
    if (status != Status::OK) return status;
  }
  return Status::OK;
}

Status Channel::reserve(Lock& lock, WaitBudget& budget, std::uint64_t data_bytes,
                        std::int64_t iteration, std::uint64_t* offset) noexcept {
  const std::uint64_t bytes = shm::RegionArena::block_bytes(data_bytes);
  if (bytes == 0 || bytes > segment_.header().data_bytes) return Status::ERROR_TOO_LARGE;
  if (watch_.is_gone()) return Status::ERROR_SERVER;
  if (memory_.reserve_at_once(data_bytes, iteration, offset)) return Status::OK;
  LeaseRequests& requests = memory_.requests();
  requests.forget_refusal();
  if (!memory_.needs_own_region(bytes)) {
    const Status status = reserve_common(lock, budget, bytes, iteration, offset);
    if (status == Status::OK) memory_.begin_common(*offset, data_bytes);
    return status;
  }
  return await_own(lock, budget, data_bytes, iteration, offset);
}

Status Channel::reserve_own(Lock& lock, WaitBudget& budget, std::uint64_t data_bytes,
                            std::uint64_t* offset) noexcept {
  const std::uint64_t bytes = shm::RegionArena::block_bytes(data_bytes);
  if (bytes == 0 || bytes > segment_.header().data_bytes) return Status::ERROR_TOO_LARGE;
  if (watch_.is_gone()) return Status::ERROR_SERVER;
  if (memory_.reserve_own_at_once(data_bytes, offset)) return Status::OK;
  memory_.requests().forget_refusal();
  return await_own(lock, budget, data_bytes, kNoIteration, offset);
}

Status Channel::await_own(Lock& lock, WaitBudget& budget, std::uint64_t data_bytes,
                          std::int64_t iteration, std::uint64_t* offset) noexcept {
  OwnRequest request;
  request.bytes = shm::RegionArena::block_bytes(data_bytes);
  memory_.requests().begin(request);
  const Status status = await_own(lock, budget, request, iteration);
  memory_.requests().end(request);
  if (status == Status::OK) *offset = memory_.begin_own(request, data_bytes);
  return status;
}

Status Channel::reserve_common(Lock& lock, WaitBudget& budget, std::uint64_t bytes,
                               std::int64_t iteration, std::uint64_t* offset) noexcept {
  LeaseRequests& requests = memory_.requests();
  requests.expect_common();
  for (;;) {
    if (memory_.cut_anew(bytes, offset)) return Status::OK;
    if (is_dropped(iteration)) return Status::DROPPED;
    if (requests.is_refused()) return Status::ERROR_FULL;
    Status status = ask_common(lock, budget, iteration);
    if (status == Status::OK) status = watch_.wait(lock, budget, bytes);
    // Should the answer have been lost on its way, the next call asks once more.
    if (status == Status::ERROR_FULL) requests.forget_common();
    if (status != Status::OK) return status;
  }
}

// A region that has come is taken, whatever else has happened meanwhile.
Status Channel::await_own(Lock& lock, WaitBudget& budget, OwnRequest& request,
                          std::int64_t iteration) noexcept {
  Status status = Status::OK;
  while (status == Status::OK) {
    memory_.take_answers();
    if (request.region.bytes != 0) return Status::OK;
    status = is_dropped(iteration) ? Status::DROPPED : request.answer;
    if (status == Status::OK && !std::exchange(request.asked, true))
      status = push(lock, budget, LeaseRequests::event_of(request, iteration));
    if (status == Status::OK) status = watch_.wait(lock, budget, request.bytes);
  }
  return request.region.bytes != 0 ? Status::OK : status;
}

Status Channel::ask_common(Lock& lock, WaitBudget& budget, std::int64_t iteration) noexcept {
  LeaseRequests& requests = memory_.requests();
  if (requests.common() == Asked::urgently) return Status::OK;
  const Event request =
      requests.common_event(segment_.header().region_bytes, Asked::urgently, iteration);
  const Status status = push(lock, budget, request);
  if (status != Status::OK) return status;  // the server does not know of it
  requests.common_is_asked(request.token, Asked::urgently);
  return Status::OK;
}

Status Channel::drop(std::int64_t iteration) noexcept {
  memory_.requests().set_dropped(iteration);
  Event event{};
  event.kind = static_cast<std::uint32_t>(EventKind::drop);
  event.iteration = iteration;
  events_.tell_now(event);
  return Status::DROPPED;
}

namespace {

std::string enlarge(std::string_view config) {
  return ": make <buffer size=\"...\"/> in " + std::string(config) + " larger";
}

// `room`: "no room for 2 MiB of "t": the segment of 8 MiB".
Error explain_refusal(const std::string& room, const WantedBlock& wanted, const Channel& channel) {
  const Refusal& refusal = channel.memory().requests().refusal();
  const std::string iteration = "iteration " + std::to_string(refusal.iteration);
  const std::string text = room + " is full, and when-full=\"error\" does not wait; ";
  switch (refusal.reason) {
    case shm::RefusalReason::hopeless:
      break;
    case shm::RefusalReason::stores:
      return {Status::ERROR_FULL, text + "the stores are not done with " + iteration};
    case shm::RefusalReason::scripts:
      return {Status::ERROR_FULL, text + "scripts are not done with " + iteration};
    case shm::RefusalReason::ranks:
      return {Status::ERROR_FULL, text + "another rank of this node has not ended " + iteration};
  }
  return {Status::ERROR_FULL, room + " is too small: this node's iteration " +
                                  std::to_string(channel.iteration()) +
                                  " alone, which cannot be stored before it has ended, holds " +
                                  format_bytes(refusal.in_use) + enlarge(wanted.config)};
}

std::string exactly(std::uint64_t bytes) {
  return format_bytes(bytes) + " (" + std::to_string(bytes) + " bytes)";
}

}  // namespace

Error explain_no_memory(Status status, const WantedBlock& wanted, const Channel& channel) {
  const std::string name = "\"" + std::string(wanted.variable) + "\"";
  const shm::SegmentHeader& header = channel.segment().header();
  if (status == Status::ERROR_TOO_LARGE) {
    return {status, "a block of " + name + " has " + exactly(wanted.bytes) +
                        ", but the whole segment has " + exactly(header.data_bytes) +
                        enlarge(wanted.config)};
  }
  const std::string room = "no room for " + format_bytes(wanted.bytes) + " of " + name +
                           ": the segment of " + format_bytes(header.data_bytes);
  if (status == Status::ERROR_FULL && channel.memory().requests().refusal().in_use > 0)
    return explain_refusal(room, wanted, channel);
  if (status == Status::ERROR_FULL) {
    return {status, room + " stayed full for " + std::to_string(header.timeout_ns / 1'000'000) +
                        " ms; the data are stored slower than they come, or another rank of "
                        "this node has not ended its iteration"};
  }
  return {status, name + " of iteration " + std::to_string(channel.iteration()) +
                      " is not stored: " + channel.server().why_gone()};
}

}  // namespace leat::client

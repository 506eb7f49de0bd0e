// SPDX-License-Identifier: Apache-2.0
#include "client-api/server_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "lib/os/clock.hpp"
#include "lib/os/memory.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {
namespace {

using platform::WaitBudget;

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
  const std::int64_t until = platform::now_ns() + kLookNs;
  do {
    if (has_come(awaited)) return true;
    platform::give_way();
  } while (platform::now_ns() < until);
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
    platform::futex_wait(area_.server->wake, seen, std::min(budget.left_ns(), kSliceNs));
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
  const std::int64_t now = platform::last_tick_ns();
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
    std::fprintf(stderr,
                 "leat: waits for %s: the segment of %s is full; its log says what holds it\n",
                 platform::format_bytes(awaited.bytes).c_str(),
                 platform::format_bytes(segment_.header().data_bytes).c_str());
  }
}

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// The part of Channel that waits for the server, and goes on with another one when it has died.
#include <algorithm>
#include <cstdio>

#include "client-api/channel.hpp"
#include "lib/platform/futex.hpp"
#include "lib/platform/memory.hpp"

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

Status Channel::wait(Lock& lock, WaitBudget& budget, std::uint64_t bytes) noexcept {
  if (server_gone_) return Status::ERROR_SERVER;
  if (budget.left_ns() == 0) return Status::ERROR_FULL;
  wake_server(true);
  if (comes_soon(bytes)) return Status::OK;
  say_once_that_it_waits(budget, bytes);
  ++sleepers_;
  area_.client->waiting.store(1, std::memory_order_seq_cst);
  const std::uint32_t seen = area_.server->wake.load(std::memory_order_seq_cst);
  // Looked at once more after "I wait" is visible, so that no wake-up is lost; a ring that got room
  // needs no sleep.
  if (!something_moved(bytes)) {
    lock.unlock();
    platform::futex_wait(area_.server->wake, seen, std::min(budget.left_ns(), kSliceNs));
    lock.lock();
  }
  if (--sleepers_ == 0) area_.client->waiting.store(0, std::memory_order_seq_cst);
  return check_server(budget);
}

Status Channel::check_server(WaitBudget& budget) noexcept {
  const std::int64_t now = platform::now_ns();
  if (!server_gone_ && now - last_check_ns_ >= kSliceNs) {
    last_check_ns_ = now;
    if (link_->is_gone()) return change_server(budget);
  }
  return server_gone_ ? Status::ERROR_SERVER : Status::OK;
}

Status Channel::change_server(WaitBudget& budget) noexcept {
  if (server_gone_) return Status::ERROR_SERVER;
  if (budget.left_ns() == 0) return Status::OK;  // the next call looks for one
  // What dead servers have given is taken first, so that the next one learns all that is held here.
  // It may have given something itself by then, which is not free again because it is not held.
  const auto tell_held = [this] {
    take_releases();
    return Held{arena_.current(), arena_.spare()};
  };
  Result<Connection> next = find_successor_(tell_held, budget.left_ns());
  if (!next && next.error().status == Status::ERROR_TIMEOUT) return Status::OK;  // looked for again
  if (!next) {
    server_gone_ = true;
    why_gone_ = next.error().message;
    return Status::ERROR_SERVER;
  }
  link_ = std::move(next->server);
  rung_for_sleep_ = 0;
  asked_common_ = Asked::nothing;
  for (Waiter* waiter = waiters_; waiter; waiter = waiter->next) waiter->asked = false;
  return Status::OK;
}

void Channel::say_once_that_it_waits(WaitBudget& budget, std::uint64_t bytes) noexcept {
  const bool long_wait = budget.waited_ns() >= kLongWaitNs;
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

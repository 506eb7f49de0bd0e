// SPDX-License-Identifier: Apache-2.0
// Waits for the server, and goes on with another one when it has died. Every wait ends at its
// deadline, earlier only when there is no server any more.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "client-api/block_memory.hpp"
#include "client-api/event_sender.hpp"
#include "client-api/rendezvous.hpp"
#include "lib/base/status.hpp"
#include "lib/os/clock.hpp"
#include "lib/shm/segment.hpp"

namespace leat::client {

using Lock = std::unique_lock<std::mutex>;

/// Connects to a server that has taken over the segment, and starts it if need be, within
/// `limit_ns`. ERROR_TIMEOUT: there may be one later; all else is for good.
using FindSuccessor =
    std::function<Result<Connection>(const TellHeld& tell_held, std::int64_t limit_ns)>;

/// Called with the session's mutex held, given as `Lock` to what may wait: it lets it go while it
/// sleeps.
class ServerWatch {
 public:
  ServerWatch(const shm::Segment& segment, const shm::ClientArea& area, EventSender& events,
              BlockMemory& memory, FindSuccessor find_successor);

  /// Sleeps until the server has moved something, a slice has passed, or the deadline. `bytes` are
  /// what for, 0 for room in the ring.
  Status wait(Lock& lock, platform::WaitBudget& budget, std::uint64_t bytes) noexcept;
  /// The same until all that wants `iteration` has it; ask is_settled() then.
  Status await_settled(Lock& lock, platform::WaitBudget& budget, std::int64_t iteration) noexcept;
  bool is_settled(std::int64_t iteration) const noexcept;
  /// This iteration was waited for in vain: until it is settled none is waited for.
  void give_up(std::int64_t iteration) noexcept { given_up_ = iteration; }
  /// That iteration, while it is not settled.
  std::optional<std::int64_t> gave_up() const noexcept {
    return given_up_ >= 0 && !is_settled(given_up_) ? std::optional(given_up_) : std::nullopt;
  }
  /// Looks whether the run was drained, and, at most every 100 ms, whether the server has died, and
  /// goes on with its successor. ERROR_SERVER, for good: nothing more is taken.
  Status check(platform::WaitBudget& budget) noexcept;
  /// The server has died: goes on with its successor.
  Status change_server(platform::WaitBudget& budget) noexcept;
  bool is_gone() const noexcept { return gone_; }
  /// By order: the server may be there, and says how it went.
  bool is_drained() const noexcept { return drained_; }
  /// Why nothing more is taken, as a sentence.
  const std::string& why_gone() const noexcept { return why_gone_; }

 private:
  /// What a call waits for: a lease of so many bytes; the end of an iteration; else room in the ring.
  struct Awaited {
    std::uint64_t bytes = 0;
    std::int64_t iteration = -1;
  };
  Status wait(Lock& lock, platform::WaitBudget& budget, const Awaited& awaited) noexcept;
  bool has_come(const Awaited& awaited) noexcept;
  bool comes_soon(const Awaited& awaited) noexcept;
  void say_once_that_it_waits(platform::WaitBudget& budget, const Awaited& awaited) noexcept;

  const shm::Segment& segment_;
  shm::ClientArea area_;
  EventSender& events_;
  BlockMemory& memory_;
  FindSuccessor find_successor_;
  int sleepers_ = 0;
  bool gone_ = false, drained_ = false;
  std::string why_gone_;
  bool said_that_it_waits_ = false;
  std::int64_t last_check_ns_ = 0, lived_ns_ = 0;
  std::int64_t given_up_ = -1;
};

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// One client's side of the segment: space for blocks, and events to the server, also when that is slow or has died. What
// may wait is here; its parts know of one thing each and never wait, but for ServerWatch. All functions are called with
// the session's mutex held, given as `Lock`; those that may wait let it go while they sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "client-api/connect/rendezvous.hpp"
#include "client-api/session/block_memory.hpp"
#include "client-api/session/events.hpp"
#include "lib/base/status.hpp"
#include "lib/os/clock.hpp"
#include "lib/shm/segment.hpp"

namespace leat::client {

using Lock = std::unique_lock<std::mutex>;

/// Connects to a server that has taken over the segment, and starts it if need be, within
/// `limit_ns`. ERROR_TIMEOUT: there may be one later; all else is for good.
using FindSuccessor =
    std::function<Result<Connection>(const AskForHeld& ask_for_held, std::int64_t limit_ns)>;

/// Waits for the server, and goes on with another one when it has died. Every wait ends at its
/// deadline, earlier only when there is no server any more.
class ServerWatch {
 public:
  ServerWatch(const shm::Segment& segment, const shm::ClientArea& area, EventSender& events,
              BlockMemory& memory, FindSuccessor find_successor);

  /// Sleeps until the server has moved something, a slice has passed, or the deadline. `bytes` are
  /// what for, 0 for room in the ring.
  Status wait(Lock& lock, os::WaitBudget& budget, std::uint64_t bytes) noexcept;
  /// The same until all that wants `iteration` has it; ask is_settled() then.
  Status await_settled(Lock& lock, os::WaitBudget& budget, std::int64_t iteration) noexcept;
  bool is_settled(std::int64_t iteration) const noexcept;
  /// This iteration was waited for in vain: until it is settled none is waited for.
  void give_up(std::int64_t iteration) noexcept { given_up_ = iteration; }
  /// That iteration, while it is not settled.
  std::optional<std::int64_t> gave_up() const noexcept {
    return given_up_ >= 0 && !is_settled(given_up_) ? std::optional(given_up_) : std::nullopt;
  }
  /// Looks whether the run was drained, and, at most every 100 ms, whether the server has died, and
  /// goes on with its successor. ERROR_SERVER, for good: nothing more is taken.
  Status check(os::WaitBudget& budget) noexcept;
  /// The server has died: goes on with its successor.
  Status change_server(os::WaitBudget& budget) noexcept;
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
  Status wait(Lock& lock, os::WaitBudget& budget, const Awaited& awaited) noexcept;
  bool has_come(const Awaited& awaited) noexcept;
  bool comes_soon(const Awaited& awaited) noexcept;
  void say_once_that_it_waits(os::WaitBudget& budget, const Awaited& awaited) noexcept;

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

using shm::kNoIteration;

class Channel {
 public:
  Channel(const shm::Segment& segment, std::uint32_t index, std::unique_ptr<shm::ToServer> server,
          FindSuccessor find_successor);

  /// Space for a block of `data_bytes` behind a BlockHeader, from memory that is there;
  /// `*offset` is that of the header. False: reserve() says why, or waits for some.
  bool reserve_at_once(std::uint64_t data_bytes, std::uint64_t* offset) noexcept {
    return !watch_.is_gone() && memory_.reserve_at_once(data_bytes, iteration_, offset);
  }
  /// The same, and it may wait. ERROR_TOO_LARGE, ERROR_FULL, ERROR_SERVER, DROPPED; waits for the
  /// server to free space, at most the segment's timeout. `iteration`: kNoIteration for what
  /// belongs to none.
  Status reserve(Lock& lock, os::WaitBudget& budget, std::uint64_t data_bytes,
                 std::int64_t iteration, std::uint64_t* offset) noexcept;

  /// The same in a region of its own, of no iteration.
  Status reserve_own(Lock& lock, os::WaitBudget& budget, std::uint64_t data_bytes,
                     std::uint64_t* offset) noexcept;

  /// Hands over the block of an array whose header is at `offset`, of the iteration that this
  /// client is in then. Waits only when the ring is full. False, or after an error: nothing has
  /// changed. `begun_ns`: trace_clock() at the begin of its call.
  bool push_block_at_once(std::uint64_t offset, std::int64_t begun_ns) noexcept {
    return events_.push_block_at_once(offset, iteration_, begun_ns);
  }
  Status push_block(Lock& lock, os::WaitBudget& budget, std::uint64_t offset,
                    std::int64_t begun_ns) noexcept;
  /// The same for an event without memory.
  Status push(Lock& lock, os::WaitBudget& budget, const shm::Event& event) noexcept;
  /// Hands over what the server must learn in any case: after ERROR_FULL the event is kept, and
  /// sent before anything else is.
  Status tell(Lock& lock, os::WaitBudget& budget, const shm::Event& event) noexcept;

  /// Blocks are of this iteration from now on.
  void enter(std::int64_t iteration) noexcept { iteration_ = iteration; }
  std::int64_t iteration() const noexcept { return iteration_; }
  shm::Event event_of(shm::EventKind kind) const noexcept;
  /// The iteration is left out on all ranks of this node: what is written of it is not wanted.
  bool is_dropped(std::int64_t iteration) const noexcept {
    return iteration >= 0 &&
           (memory_.requests().dropped() == iteration || segment_.drop_words().has(iteration));
  }
  /// This client has waited in vain: its iteration is left out, as when-full says. Waits for
  /// nobody. DROPPED.
  Status drop(std::int64_t iteration) noexcept;
  /// A write has failed: known to the server even if this process ends before it can say which.
  void count_failed(std::uint32_t writes = 1) noexcept {
    area_.client->failed.fetch_add(writes, std::memory_order_relaxed);
  }

  bool is_traced() const noexcept { return traced_; }
  /// Now, where the run is traced; 0: it is not.
  std::int64_t trace_clock() const noexcept { return traced_ ? os::now_ns() : 0; }
  /// For the trace: what this client was at, in which iteration. Without room in the ring it is only counted.
  void tell_span(shm::SpanKind kind, std::int64_t iteration, std::int64_t begun_ns,
                 std::int64_t ended_ns) noexcept;

  /// So long was a call of Leat's, in the iteration that ends next.
  void count_inside(std::int64_t ns) noexcept { inside_ns_ += ns; }
  /// Of this iteration, now.
  shm::Event end_event() noexcept;

  EventSender& events() noexcept { return events_; }
  BlockMemory& memory() noexcept { return memory_; }
  const BlockMemory& memory() const noexcept { return memory_; }
  ServerWatch& server() noexcept { return watch_; }
  const ServerWatch& server() const noexcept { return watch_; }
  const shm::Segment& segment() const noexcept { return segment_; }
  os::WaitBudget budget() const noexcept { return os::WaitBudget(timeout_ns_); }

 private:
  Status reserve_common(Lock& lock, os::WaitBudget& budget, std::uint64_t bytes,
                        std::int64_t iteration, std::uint64_t* offset) noexcept;
  Status await_own(Lock& lock, os::WaitBudget& budget, std::uint64_t data_bytes,
                   std::int64_t iteration, std::uint64_t* offset) noexcept;
  Status await_own(Lock& lock, os::WaitBudget& budget, OwnRequest& request,
                   std::int64_t iteration) noexcept;
  Status ask_common(Lock& lock, os::WaitBudget& budget, std::int64_t iteration) noexcept;
  Status await_room(Lock& lock, os::WaitBudget& budget) noexcept;

  const shm::Segment& segment_;
  shm::ClientArea area_;
  EventSender events_;
  BlockMemory memory_;
  ServerWatch watch_;
  std::int64_t timeout_ns_;
  std::int64_t iteration_ = 0;
  std::int64_t inside_ns_ = 0;
  const bool traced_;
  std::uint32_t spans_lost_ = 0;  // since the last that found room
};

/// While it lives, the time is Leat's, and spent on a wait. With the lock held at both ends.
class InsideTime {
 public:
  InsideTime(Channel& channel, shm::SpanKind waits_for) noexcept
      : channel_(channel),
        waits_for_(waits_for),
        iteration_(channel.iteration()),
        begun_ns_(os::now_ns()) {}
  InsideTime(const InsideTime&) = delete;
  ~InsideTime() {
    const std::int64_t ended_ns = os::now_ns();
    channel_.count_inside(ended_ns - begun_ns_);
    channel_.tell_span(waits_for_, iteration_, begun_ns_, ended_ns);
  }

 private:
  Channel& channel_;
  const shm::SpanKind waits_for_;
  const std::int64_t iteration_;
  const std::int64_t begun_ns_;
};

/// What was wanted, of whom.
struct WantedBlock {
  std::string_view variable;
  std::uint64_t bytes = 0;
  std::string_view config;  ///< the XML's path
};

/// Why a block found no memory: the message, and what to do about it. `status`: of Channel::reserve or push_block, the one that was called last.
Error explain_no_memory(Status status, const WantedBlock& wanted, const Channel& channel);

}  // namespace leat::client

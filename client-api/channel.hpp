// SPDX-License-Identifier: Apache-2.0
// One client's side of the segment: space for blocks, events to the server, releases from it.
//
// All functions are called with the session's mutex held, given as `Lock`; those that may wait let
// it go while they sleep. Every wait ends at the deadline. When the server has died another one is
// found or started that takes over; a wait ends earlier only when there is none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "client-api/first_use.hpp"
#include "client-api/rendezvous.hpp"
#include "client-api/unsent_events.hpp"
#include "lib/base/status.hpp"
#include "lib/platform/clock.hpp"
#include "lib/shm/lease_table.hpp"
#include "lib/shm/offers.hpp"
#include "lib/shm/region_arena.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/spsc_ring.hpp"

namespace leat::client {

using Lock = std::unique_lock<std::mutex>;
using shm::kNoIteration;

/// Connects to a server that has taken over the segment, and starts it if need be, within
/// `limit_ns`. ERROR_TIMEOUT: there may be one later; all else is for good.
using FindSuccessor =
    std::function<Result<Connection>(const TellHeld& tell_held, std::int64_t limit_ns)>;

class Channel {
 public:
  Channel(const shm::Segment& segment, std::uint32_t index, std::unique_ptr<shm::ToServer> server,
          FindSuccessor find_successor);

  /// Space for a block of `data_bytes` behind a BlockHeader, from memory that is there;
  /// `*offset` is that of the header. False: reserve() says why, or waits for some.
  bool reserve_at_once(std::uint64_t data_bytes, std::int64_t iteration,
                       std::uint64_t* offset) noexcept;
  /// The same, and it may wait. ERROR_TOO_LARGE, ERROR_FULL, ERROR_SERVER, DROPPED; waits for the server to free space, at
  /// most the segment's timeout. `iteration`: kNoIteration for what belongs to none.
  Status reserve(Lock& lock, platform::WaitBudget& budget, std::uint64_t data_bytes,
                 std::int64_t iteration, std::uint64_t* offset) noexcept;

  /// Hands one event over, and with it the block that it is about, of the iteration that this
  /// client is in then. Waits only when the ring is full. After an error nothing has changed.
  Status push(Lock& lock, platform::WaitBudget& budget, shm::Event event) noexcept;
  /// The same without a wait. False, with nothing changed: there is no room.
  bool push_at_once(const shm::Event& event) noexcept;
  /// The same for what the server must learn in any case: after ERROR_FULL the event is kept, and
  /// sent before anything else is. With tell_now without a wait.
  Status tell(Lock& lock, platform::WaitBudget& budget, const shm::Event& event) noexcept;
  void tell_now(const shm::Event& event) noexcept;
  /// Sends what was kept as far as there is room. True when there is room for more.
  bool has_room() noexcept { return unsent_.empty() ? !events_.full() : send_unsent(); }
  /// A block from reserve() whose event could not be pushed: its memory goes back.
  void forgo(std::uint64_t offset) noexcept;

  /// Blocks are of this iteration from now on.
  void enter(std::int64_t iteration) noexcept { iteration_ = iteration; }
  /// A write has failed: known to the server even if this process ends before it can say which.
  void count_failed() noexcept { area_.client->failed.fetch_add(1, std::memory_order_relaxed); }

  /// Looks whether the server has died, at most every 100 ms, and goes on with its successor.
  /// ERROR_SERVER, for good, when there is none.
  Status check_server(platform::WaitBudget& budget) noexcept;
  /// The server has died: goes on with its successor.
  Status change_server(platform::WaitBudget& budget) noexcept;
  /// Why there is no server any more.
  const std::string& why_gone() const noexcept { return why_gone_; }

  /// The iteration is left out on all ranks of this node: what is written of it is not wanted.
  bool is_dropped(std::int64_t iteration) const noexcept {
    return iteration >= 0 && (dropped_ == iteration || segment_.drop_words().has(iteration));
  }
  /// This client has waited in vain: its iteration is left out, as when-full says. Waits for
  /// nobody. DROPPED.
  Status drop(std::int64_t iteration) noexcept;

  /// Why the last ERROR_FULL was one: what the server said, or with no bytes that time had passed.
  struct Refusal {
    shm::RefusalReason reason = shm::RefusalReason::hopeless;
    std::int64_t iteration = 0;  ///< that has the memory
    std::uint64_t in_use = 0;    ///< bytes
  };
  const Refusal& refusal() const noexcept { return refusal_; }
  std::int64_t timeout_ns() const noexcept { return timeout_ns_; }
  /// The way to the server beside the rings.
  shm::ToServer& link() const noexcept { return *link_; }
  /// In a child that was forked: an open connection would say that the parent lives.
  void close_in_child() noexcept { link_->close(); }

 private:
  // A thread that waits for a region for its one block; lives on that thread's stack.
  struct Waiter {
    std::uint64_t token = 0;
    shm::Region region;
    bool asked = false;
    Status answer = Status::OK;
    Waiter* next = nullptr;
  };
  enum class Asked { nothing, ahead, urgently };

  Status reserve_common(Lock& lock, platform::WaitBudget& budget, std::uint64_t bytes,
                        std::int64_t iteration, std::uint64_t* offset) noexcept;
  Status reserve_own(Lock& lock, platform::WaitBudget& budget, std::uint64_t bytes,
                     std::int64_t iteration, std::uint64_t* offset) noexcept;
  /// A common region has come. False: there are enough.
  bool add_common(shm::Region region) noexcept;
  std::uint64_t claim_own(std::uint64_t bytes) noexcept;
  /// Takes a common region that the server offers. False: there is none.
  bool claim_common() noexcept;
  Status ask_common(Lock& lock, platform::WaitBudget& budget, std::int64_t iteration) noexcept;
  /// For the blocks to come, without a wait.
  void get_common_ahead(std::int64_t iteration) noexcept;
  Status await_room(Lock& lock, platform::WaitBudget& budget) noexcept;
  /// There is room. The server is woken for what somebody may wait for; blocks and values of
  /// parameters have time until their iteration ends, or a good part of the ring is full.
  void put(const shm::Event& event) noexcept;
  bool send_unsent() noexcept;
  /// `at_once`: also when it will look by itself in a moment.
  void wake_server(bool at_once) noexcept;
  void seal(shm::Seal full) noexcept;
  /// Takes what the server has released; what nobody here waits for any more goes back.
  void take_releases() noexcept;
  void deliver(const shm::Release& release) noexcept;
  /// Makes the place of a block one that a server which takes over recognises.
  void stamp(std::uint64_t offset, std::uint64_t region, std::uint64_t data_bytes) noexcept;
  void mark_handed_over(const shm::Event& event) noexcept;
  void refuse(const shm::Release& release) noexcept;
  void note_dropped(const shm::Release& release) noexcept;
  Waiter* find_waiter(std::uint64_t token) noexcept;
  void forget(Waiter& waiter) noexcept;

  /// Sleeps until the server has moved something, a slice has passed, or the deadline. `bytes` are
  /// what for, 0 for room in the ring.
  Status wait(Lock& lock, platform::WaitBudget& budget, std::uint64_t bytes) noexcept;
  bool something_moved(std::uint64_t bytes) noexcept;
  bool comes_soon(std::uint64_t bytes) noexcept;
  void say_once_that_it_waits(platform::WaitBudget& budget, std::uint64_t bytes) noexcept;

  const shm::Segment& segment_;
  shm::ClientArea area_;
  shm::ServerState& server_;
  std::unique_ptr<shm::ToServer> link_;
  FindSuccessor find_successor_;
  shm::LeaseTable leases_;
  shm::RingProducer<shm::Event> events_;
  shm::RingConsumer<shm::Release> releases_;
  shm::OfferReader offers_;
  shm::RegionArena arena_;
  FirstUse first_use_;
  UnsentEvents unsent_;
  std::int64_t timeout_ns_;
  std::uint32_t most_unannounced_;
  std::uint64_t next_token_ = 1;
  Waiter* waiters_ = nullptr;
  int sleepers_ = 0;
  Asked asked_common_ = Asked::nothing;
  std::uint64_t common_token_ = 0;
  bool common_refused_ = false;
  Refusal refusal_;
  std::int64_t iteration_ = 0;
  std::int64_t dropped_ = kNoIteration;  // the last that an answer, or this client, left out
  std::uint32_t rung_for_sleep_ = 0;     // the server's sleep for which the doorbell was rung
  std::uint32_t unannounced_ = 0;        // events for which the server was not woken
  bool server_gone_ = false;
  std::string why_gone_;
  bool said_that_it_waits_ = false;
  std::int64_t last_check_ns_ = 0;
};

// Here, so that a write of a small block is one function: half of what it costs would be calls.

/// Nobody waits for what follows from it before its iteration has ended.
inline bool has_time(shm::EventKind kind) noexcept {
  using shm::EventKind;
  return kind == EventKind::block || kind == EventKind::set_integer ||
         kind == EventKind::set_real || kind == EventKind::set_text || kind == EventKind::seal;
}

/// Somebody may wait for what follows from it now.
inline bool is_urgent(shm::EventKind kind) noexcept {
  return !has_time(kind) && kind != shm::EventKind::end_iteration;
}

inline void Channel::stamp(std::uint64_t offset, std::uint64_t region,
                           std::uint64_t data_bytes) noexcept {
  auto& header = *segment_.at<shm::BlockHeader>(offset);
  header.event = 0;
  header.data_bytes = data_bytes;
  // Release: whoever finds the lease's id here, finds the rest.
  std::atomic_ref(header.lease).store(leases_.id_at(region), std::memory_order_release);
}

inline bool Channel::reserve_at_once(std::uint64_t data_bytes, std::int64_t iteration,
                                     std::uint64_t* offset) noexcept {
  const std::uint64_t bytes = shm::RegionArena::block_bytes(data_bytes);
  if (bytes == 0 || server_gone_) return false;
  const bool own = arena_.needs_own_region(bytes);
  *offset = own ? claim_own(bytes) : arena_.cut(bytes);
  if (*offset == 0) return false;
  stamp(*offset, own ? *offset : arena_.current().offset, data_bytes);
  if (!own && arena_.runs_low()) get_common_ahead(iteration);
  return true;
}

// The number is that of an event which is not there yet: only with both is the block handed over.
inline void Channel::mark_handed_over(const shm::Event& event) noexcept {
  const auto kind = static_cast<shm::EventKind>(event.kind);
  const bool is_block = kind == shm::EventKind::block || kind == shm::EventKind::set_text ||
                        kind == shm::EventKind::forgo;
  if (!is_block) return;
  auto& header = *segment_.at<shm::BlockHeader>(event.offset);
  header.iteration = kind == shm::EventKind::block ? event.iteration : shm::kNoIteration;
  std::atomic_ref(header.event).store(events_.next() + 1, std::memory_order_release);
}

inline void Channel::put(const shm::Event& event) noexcept {
  mark_handed_over(event);
  events_.push(event);
  ++unannounced_;
  const auto kind = static_cast<shm::EventKind>(event.kind);
  const bool has_many = unannounced_ >= most_unannounced_;
  if (has_many || !has_time(kind)) wake_server(has_many || is_urgent(kind));
}

inline bool Channel::push_at_once(const shm::Event& event) noexcept {
  if (!has_room()) return false;
  put(event);
  return true;
}

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// One client's side of the segment: space for blocks, events to the server, releases from it.
//
// All functions are called with the session's mutex held, given as `Lock`; those that may wait let
// it go while they sleep. Every wait ends at the deadline, or earlier when the server has died.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "lib/base/status.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/unique_fd.hpp"
#include "lib/shm/extent_arena.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/spsc_ring.hpp"

namespace leat::client {

using Lock = std::unique_lock<std::mutex>;

inline constexpr std::int64_t kNoIteration = -1;

class Channel {
 public:
  Channel(const shm::Segment& segment, std::uint32_t index, platform::UniqueFd socket,
          platform::UniqueFd doorbell) noexcept;

  /// Space for a block of `data_bytes` behind a BlockHeader; `*offset` is that of the header.
  /// ERROR_TOO_LARGE, ERROR_FULL, ERROR_SERVER, DROPPED; waits for the server to free space, at
  /// most the segment's timeout. `iteration`: kNoIteration for what belongs to none.
  Status reserve(Lock& lock, platform::Patience& patience, std::uint64_t data_bytes,
                 std::int64_t iteration, std::uint64_t* offset) noexcept;

  /// Hands one event over. Waits only when the ring is full.
  Status push(Lock& lock, platform::Patience& patience, const shm::Event& event) noexcept;

  /// The iteration is left out on all ranks of this node: what is written of it is not wanted.
  bool is_dropped(std::int64_t iteration) const noexcept {
    return iteration >= 0 && (dropped_ == iteration || segment_.drop_words().has(iteration));
  }
  /// This client has waited in vain: its iteration is left out, as when-full says. Waits for
  /// nobody: when the event finds no room, the end of the iteration says the same. DROPPED.
  Status drop(Lock& lock, std::int64_t iteration) noexcept;
  bool has_decided_to_drop(std::int64_t iteration) const noexcept { return decided_ == iteration; }

  /// Looks whether the server has died, at most every 100 ms. ERROR_SERVER for good once it has.
  Status check_server() noexcept;

  /// Why the last ERROR_FULL was one: what the server said, or with no bytes that time had passed.
  struct Refusal {
    shm::RefusalReason reason = shm::RefusalReason::hopeless;
    std::int64_t iteration = 0;  ///< that has the memory
    std::uint64_t in_use = 0;    ///< bytes
  };
  const Refusal& refusal() const noexcept { return refusal_; }
  std::int64_t timeout_ns() const noexcept { return timeout_ns_; }
  int socket() const noexcept { return socket_.get(); }

 private:
  // A thread that waits for an extent for its one block; lives on that thread's stack.
  struct Waiter {
    std::uint64_t token = 0;
    shm::Extent extent;
    Status answer = Status::OK;
    Waiter* next = nullptr;
  };
  enum class Asked { nothing, ahead, urgently };

  Status reserve_common(Lock& lock, platform::Patience& patience, std::uint64_t bytes,
                        std::int64_t iteration, std::uint64_t* offset) noexcept;
  Status reserve_own(Lock& lock, platform::Patience& patience, std::uint64_t bytes,
                     std::int64_t iteration, std::uint64_t* offset) noexcept;
  Status ask(Lock& lock, platform::Patience& patience, std::uint64_t bytes, std::uint32_t flags,
             std::int64_t iteration, std::uint64_t token) noexcept;
  Status ask_common(Lock& lock, platform::Patience& patience, Asked how,
                    std::int64_t iteration) noexcept;
  Status seal(Lock& lock, platform::Patience& patience, shm::Seal full) noexcept;
  /// Takes what the server has released; what nobody here waits for any more goes back.
  Status take_releases(Lock& lock, platform::Patience& patience) noexcept;
  shm::Extent deliver(const shm::Release& release) noexcept;
  void refuse(const shm::Release& release) noexcept;
  void note_dropped(const shm::Release& release) noexcept;
  Waiter* find_waiter(std::uint64_t token) noexcept;
  void forget(Waiter& waiter) noexcept;

  /// Sleeps until the server has moved something, a slice has passed, or the deadline. `bytes` are
  /// what for, 0 for room in the ring.
  Status wait(Lock& lock, platform::Patience& patience, std::uint64_t bytes) noexcept;
  bool something_moved(std::uint64_t bytes) noexcept;
  bool comes_soon(std::uint64_t bytes) noexcept;
  void say_once_that_it_waits(platform::Patience& patience, std::uint64_t bytes) noexcept;

  const shm::Segment& segment_;
  shm::ClientArea area_;
  shm::ServerWords& server_;
  platform::UniqueFd socket_, doorbell_;
  shm::RingProducer<shm::Event> events_;
  shm::RingConsumer<shm::Release> releases_;
  shm::ExtentArena arena_;
  std::int64_t timeout_ns_;
  std::uint64_t next_token_ = 1;
  Waiter* waiters_ = nullptr;
  int sleepers_ = 0;
  Asked asked_common_ = Asked::nothing;
  std::uint64_t common_token_ = 0;
  bool common_refused_ = false;
  Refusal refusal_;
  std::int64_t dropped_ = kNoIteration;  // the last one of which an answer said so, or...
  std::int64_t decided_ = kNoIteration;  // ...that this client left out by itself
  std::uint32_t rung_for_sleep_ = 0;     // the server's sleep for which the doorbell was rung
  bool server_gone_ = false;
  bool said_that_it_waits_ = false;
  std::int64_t last_check_ns_ = 0;
};

}  // namespace leat::client

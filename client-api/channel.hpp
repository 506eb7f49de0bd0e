// SPDX-License-Identifier: Apache-2.0
// One client's side of the segment: space for blocks, events to the server, releases from it.
//
// All functions are called with the session's mutex held, given as `Lock`; those that may wait let
// it go while they sleep. Every wait ends at the deadline. When the server has died another one is
// found or started that takes over; a wait ends earlier only when there is none.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "client-api/rendezvous.hpp"
#include "lib/base/status.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/unique_fd.hpp"
#include "lib/shm/extent_arena.hpp"
#include "lib/shm/lease_table.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/spsc_ring.hpp"

namespace leat::client {

using Lock = std::unique_lock<std::mutex>;

/// Connects to a server that has taken over the segment, and starts it if need be, within
/// `limit_ns`. ERROR_TIMEOUT: there may be one later; all else is for good.
using FindSuccessor =
    std::function<Result<Connection>(const TellHeld& tell_held, std::int64_t limit_ns)>;

class Channel {
 public:
  Channel(const shm::Segment& segment, std::uint32_t index, platform::UniqueFd socket,
          platform::UniqueFd doorbell, FindSuccessor find_successor);

  /// Space for a block of `data_bytes` behind a BlockHeader; `*offset` is that of the header.
  /// ERROR_TOO_LARGE, ERROR_FULL, ERROR_SERVER; waits for the server to free space, at most the
  /// segment's timeout.
  Status reserve(Lock& lock, platform::Patience& patience, std::uint64_t data_bytes,
                 std::int64_t iteration, std::uint64_t* offset) noexcept;

  /// Hands one event over, and with it the block that it is about. Waits only when the ring is
  /// full.
  Status push(Lock& lock, platform::Patience& patience, const shm::Event& event) noexcept;

  /// Looks whether the server has died, at most every 100 ms, and goes on with its successor.
  /// ERROR_SERVER, for good, when there is none.
  Status check_server(platform::Patience& patience) noexcept;
  /// The server has died: goes on with its successor.
  Status change_server(platform::Patience& patience) noexcept;
  /// Why there is no server any more.
  const std::string& why_gone() const noexcept { return why_gone_; }

  /// Bytes of the current iteration on this node when the last ERROR_FULL was a refusal; 0 when
  /// time had passed.
  std::uint64_t refused_in_use() const noexcept { return refused_in_use_; }
  std::int64_t timeout_ns() const noexcept { return timeout_ns_; }
  int socket() const noexcept { return socket_.get(); }

 private:
  // A thread that waits for an extent for its one block; lives on that thread's stack.
  struct Waiter {
    std::uint64_t token = 0;
    shm::Extent extent;
    bool asked = false;
    bool refused = false;
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
  bool next_release(shm::Extent* unwanted) noexcept;
  shm::Extent deliver(const shm::Release& release) noexcept;
  /// Makes the place of a block one that a server which takes over recognises.
  void stamp(std::uint64_t offset, std::uint64_t extent, std::uint64_t data_bytes) noexcept;
  void mark_handed_over(const shm::Event& event) noexcept;
  void refuse(const shm::Release& release) noexcept;
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
  FindSuccessor find_successor_;
  shm::LeaseTable leases_;
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
  std::uint64_t refused_in_use_ = 0;
  std::uint32_t rung_for_sleep_ = 0;  // the server's sleep for which the doorbell was rung
  bool server_gone_ = false;
  std::string why_gone_;
  bool said_that_it_waits_ = false;
  std::int64_t last_check_ns_ = 0;
};

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// The memory of this client's blocks: regions that the server has leased to it, from which blocks
// are cut, and what it still asks for. Never waits. Called with the session's mutex held.
#pragma once

#include <atomic>
#include <cstdint>

#include "client-api/event_sender.hpp"
#include "client-api/first_use.hpp"
#include "client-api/lease_requests.hpp"
#include "client-api/rendezvous.hpp"
#include "lib/shm/leases.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/spsc_ring.hpp"

namespace leat::client {

class BlockMemory {
 public:
  BlockMemory(const shm::Segment& segment, const shm::ClientArea& area, EventSender& events);

  /// Space for a block of `data_bytes` behind a BlockHeader, from memory that is there; `*offset`
  /// is that of the header. False: there is none now, or never.
  bool reserve_at_once(std::uint64_t data_bytes, std::int64_t iteration,
                       std::uint64_t* offset) noexcept;
  /// The same for a small block, with all that the server has said meanwhile.
  bool cut_anew(std::uint64_t bytes, std::uint64_t* offset) noexcept;
  bool needs_own_region(std::uint64_t bytes) const noexcept {
    return arena_.needs_own_region(bytes);
  }
  /// The region that a request was for has come: its block is there.
  std::uint64_t begin_own(const OwnRequest& request, std::uint64_t data_bytes) noexcept;
  void begin_common(std::uint64_t offset, std::uint64_t data_bytes) noexcept {
    stamp(offset, lease_, data_bytes);
  }
  /// A block whose event could not be pushed: its memory goes back.
  void give_back(std::uint64_t offset) noexcept;

  /// Takes what the server has said; what nobody here waits for any more goes back.
  void take_answers() noexcept;
  bool has_answers() noexcept { return !releases_.empty(); }
  LeaseRequests& requests() noexcept { return requests_; }
  const LeaseRequests& requests() const noexcept { return requests_; }

  /// What dead servers have given, for one that takes over.
  Held held() noexcept;
  /// It has taken over.
  void ask_again() noexcept;

 private:
  bool claim_common() noexcept;
  std::uint64_t claim_own(std::uint64_t bytes) noexcept;
  /// For the blocks to come, without a wait.
  void get_common_ahead(std::int64_t iteration) noexcept;
  /// A common region has come. False: there are enough.
  bool add_common(shm::Region region) noexcept;
  void deliver(const shm::Release& release) noexcept;
  void seal(shm::Seal full) noexcept;
  /// Makes the place of a block one that a server which takes over recognises.
  void stamp(std::uint64_t offset, std::uint64_t lease, std::uint64_t data_bytes) noexcept;

  const shm::Segment& segment_;
  EventSender& events_;
  shm::LeaseTable leases_;
  shm::RingConsumer<shm::Release> releases_;
  shm::OfferReader offers_;
  shm::RegionArena arena_;
  std::uint64_t lease_ = 0;  // id of the region that blocks are cut from
  FirstUse first_use_;
  LeaseRequests requests_;
};

inline void BlockMemory::stamp(std::uint64_t offset, std::uint64_t lease,
                               std::uint64_t data_bytes) noexcept {
  auto& header = *segment_.at<shm::BlockHeader>(offset);
  header.event = 0;
  header.data_bytes = data_bytes;
  // Release: whoever finds the lease's id here, finds the rest.
  std::atomic_ref(header.lease).store(lease, std::memory_order_release);
}

inline bool BlockMemory::reserve_at_once(std::uint64_t data_bytes, std::int64_t iteration,
                                         std::uint64_t* offset) noexcept {
  const std::uint64_t bytes = shm::RegionArena::block_bytes(data_bytes);
  if (bytes == 0) return false;
  if (arena_.needs_own_region(bytes)) {
    *offset = claim_own(bytes);
    if (*offset == 0) return false;
    stamp(*offset, leases_.id_at(*offset), data_bytes);
    return true;
  }
  *offset = arena_.cut(bytes);
  if (*offset == 0) return false;
  stamp(*offset, lease_, data_bytes);
  if (arena_.runs_low()) get_common_ahead(iteration);
  return true;
}

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// The memory of this client's blocks: regions that the server has leased to it, from which blocks are cut, and what it
// still asks for. Never waits. Private to the process; called with the session's mutex held.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "client-api/connect/rendezvous.hpp"
#include "client-api/session/events.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/leases.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/spsc_ring.hpp"

namespace leat::client {

// Pages of the segment come into this process' page tables at their first use. A write does that
// page by page, a read for all that lie around the page (Linux: fault_around_bytes, 64 KiB): so
// memory that is new here is read once before it is written, at a sixth of the cost.
class FirstUse {
 public:
  /// `base`: of the mapping, `bytes` long.
  FirstUse(const char* base, std::uint64_t bytes);

  /// Before a region is written for which there is memory.
  void of(shm::Region region) noexcept {
    const std::uint64_t end = skipped_ + region.offset + region.bytes;
    for (std::uint64_t window = (skipped_ + region.offset) / kWindow; window * kWindow < end;
         ++window) {
      std::uint64_t& used = used_[window / 64];
      const std::uint64_t bit = std::uint64_t{1} << window % 64;
      if ((used & bit) != 0) continue;
      used |= bit;
      read(window, region.offset);
    }
  }

 private:
  static constexpr std::uint64_t kWindow = 64 << 10;

  void read(std::uint64_t window, std::uint64_t least) const noexcept;

  const char* base_;
  std::uint64_t skipped_;  // from the window's start to `base`: windows are aligned addresses
  std::vector<std::uint64_t> used_;
};

// What this client has asked its server for, and what became of it: memory given, refused, or not
// needed because the iteration is left out.

/// A thread that waits for a region for its one block; lives on that thread's stack.
struct OwnRequest {
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;
  bool asked = false;
  shm::Region region;  ///< no bytes: not there yet
  Status answer = Status::OK;
  OwnRequest* next = nullptr;
};

/// Why the last request was refused; with no bytes it was not.
struct Refusal {
  shm::RefusalReason reason = shm::RefusalReason::hopeless;
  std::int64_t iteration = 0;  ///< that has the memory
  std::uint64_t in_use = 0;    ///< bytes
};

class LeaseRequests {
 public:
  /// How a common region was asked for. With `ahead` nobody waits for it.
  enum class Asked { nothing, ahead, urgently };

  void begin(OwnRequest& request) noexcept;
  void end(OwnRequest& request) noexcept;
  /// The event that asks for it.
  static shm::Event event_of(const OwnRequest& request, std::int64_t iteration) noexcept;
  /// The event that asks for a common region; it counts as asked once common_is_asked says so.
  shm::Event common_event(std::uint64_t bytes, Asked how, std::int64_t iteration) noexcept;
  void common_is_asked(std::uint64_t token, Asked how) noexcept;
  /// Should the answer have been lost on its way, the next call asks once more.
  void forget_common() noexcept { common_ = Asked::nothing; }
  Asked common() const noexcept { return common_; }
  /// Of the request for a common region, since expect_common().
  bool is_refused() const noexcept { return common_refused_; }
  void expect_common() noexcept { common_refused_ = false; }

  /// The request that a region is for, to which it is given. Null: it is a common one, or nobody
  /// waits for it any more.
  OwnRequest* take(const shm::Release& release) noexcept;
  void refuse(const shm::Release& release) noexcept;
  void drop(const shm::Release& release) noexcept;
  /// Of a server that has died, which a successor does not know.
  void ask_again() noexcept;

  const Refusal& refusal() const noexcept { return refusal_; }
  void forget_refusal() noexcept { refusal_ = {}; }
  /// The last iteration that an answer, or this client, left out.
  std::int64_t dropped() const noexcept { return dropped_; }
  void set_dropped(std::int64_t iteration) noexcept { dropped_ = iteration; }

 private:
  OwnRequest* find(std::uint64_t token) noexcept;

  OwnRequest* own_ = nullptr;
  std::uint64_t next_token_ = 1;
  Asked common_ = Asked::nothing;
  std::uint64_t common_token_ = 0;
  bool common_refused_ = false;
  Refusal refusal_;
  std::int64_t dropped_ = shm::kNoIteration;
};

/// The regions that the server has leased to this client, from which blocks are cut.
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
  /// The same in a region of its own, however small it is.
  bool reserve_own_at_once(std::uint64_t data_bytes, std::uint64_t* offset) noexcept;
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
  HeldRegions held() noexcept;
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

inline bool BlockMemory::reserve_own_at_once(std::uint64_t data_bytes,
                                             std::uint64_t* offset) noexcept {
  *offset = claim_own(shm::RegionArena::block_bytes(data_bytes));
  if (*offset == 0) return false;
  stamp(*offset, leases_.id_at(*offset), data_bytes);
  return true;
}

inline bool BlockMemory::reserve_at_once(std::uint64_t data_bytes, std::int64_t iteration,
                                         std::uint64_t* offset) noexcept {
  const std::uint64_t bytes = shm::RegionArena::block_bytes(data_bytes);
  if (bytes == 0) return false;
  if (arena_.needs_own_region(bytes)) return reserve_own_at_once(data_bytes, offset);
  *offset = arena_.cut(bytes);
  if (*offset == 0) return false;
  stamp(*offset, lease_, data_bytes);
  if (arena_.runs_low()) get_common_ahead(iteration);
  return true;
}

}  // namespace leat::client

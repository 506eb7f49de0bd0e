// SPDX-License-Identifier: Apache-2.0
// Publishes products: named arrays that somebody has made of an iteration. Ranks of a simulation have none; staging nodes do this
// for the nodes that send to them. Called with the session's mutex held.
#pragma once

#include <cstdint>
#include <string>

#include "client-api/session/channel.hpp"
#include "client-api/session/failures.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/leases.hpp"

namespace leat::client {

// What is published together lies in a region of its own, which goes back when nobody reads it any more: so a server that takes over
// finds just what its subscribers do not have yet, and the writer sees when they have it.
class ProductWriter {
 public:
  /// Of something that was published: its region, and the lease of that.
  struct Place {
    std::uint64_t offset = 0, lease = 0;
  };

  explicit ProductWriter(Channel& channel)
      : channel_(channel), segment_(channel.segment()), leases_(segment_) {}

  /// Memory for the head, which is copied, and behind it for data, which the caller fills. `head`: JSON, whose size is a multiple of
  /// kCacheLine, see server/engine/published_by_ranks.hpp. ERROR_TIMEOUT: there was none in time, ask again. DROPPED: the server
  /// drops this rank's iteration for it; ask again, there may be some soon. Other errors: there never will be.
  Status alloc(const Call& call, const std::string& head, std::uint64_t data_bytes, void** data);
  /// From here on the server has it. An error: the memory is given back.
  Status commit(const Call& call, void* data, Place* place);
  /// It was not filled, and never will be.
  void give_back(void* data) noexcept { give_back(header_of(data)); }
  /// Stores and scripts have it.
  bool is_through(const Place& place) const noexcept {
    return leases_.id_at(place.offset) != place.lease;
  }

 private:
  shm::BlockHeader& header_of(void* data) const noexcept;
  void give_back(shm::BlockHeader& header) noexcept;

  Channel& channel_;
  const shm::Segment& segment_;
  shm::LeaseTable leases_;
  std::uint64_t head_bytes_ = 0;  // of what has memory and is not committed: one at a time
};

}  // namespace leat::client

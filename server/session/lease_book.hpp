// SPDX-License-Identifier: Apache-2.0
// Who gets what is free of the segment. Requests are served in line (LeaseRequests), as long as
// they leave others what they will need to catch up (CatchUp); one that nothing can ever free
// memory for is refused at once. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/session/catch_up.hpp"
#include "server/session/lease_requests.hpp"
#include "server/session/leased_regions.hpp"

namespace leat::server {

struct Grant {
  LeaseRequest request;
  shm::Region region;
};

class LeaseBook {
 public:
  /// `table`, when given, is kept in step for a server that takes over.
  LeaseBook(const shm::SegmentHeader& header, std::uint32_t clients,
            shm::LeaseTable* table = nullptr);
  LeaseBook(const LeaseBook&) = delete;

  LeasedRegions& regions() noexcept { return regions_; }
  const LeasedRegions& regions() const noexcept { return regions_; }
  LeaseRequests& requests() noexcept { return requests_; }
  const LeaseRequests& requests() const noexcept { return requests_; }

  /// All blocks of this client that were found in adopted leases have come. `peak`: the most bytes
  /// of them that are of one iteration.
  void resume(std::uint32_t client, std::int64_t iteration, std::uint64_t peak) {
    catch_up_.resume(client, iteration, peak);
  }

  /// False: refused, see LeaseRequests::add().
  bool request(const LeaseRequest& request);
  /// What can be given now, in order; each goes to its client's release ring.
  std::vector<Grant> serve();
  /// After serve(): what the first in line, a rank that waits now, is given as soon as there is
  /// memory for it; nothing when it waits for something else.
  std::optional<shm::Region> awaited_memory();
  /// After serve: the first request in line, taken off it, when nothing can ever free memory for
  /// it: no older iteration holds blocks, and no rank is behind. `oldest_unfinished`: the least
  /// iteration that holds blocks, or INT64_MAX.
  std::optional<LeaseRequest> take_hopeless(std::int64_t oldest_unfinished);
  /// Memory for a client that has not asked for it, when there is enough to spare: nobody waits, a
  /// quarter of all stays free, and what others need to end the iteration that this client is in.
  /// `flags`: kLeaseOwn or kLeaseCommon.
  std::optional<shm::Region> give_ahead(std::uint32_t client, std::uint64_t bytes,
                                        std::uint32_t flags);
  /// Bytes of regions that this client can use in an iteration like those so far.
  std::uint64_t most_in_iteration(std::uint32_t client) const noexcept;

  void block_came(std::uint32_t client, std::uint64_t region, std::uint64_t bytes);
  /// The client has ended this iteration, and all before it.
  void iteration_ended(std::uint32_t client, std::int64_t iteration) {
    catch_up_.iteration_ended(client, iteration);
  }
  /// The client has ended: no more blocks will come from it, its requests are void.
  void client_gone(std::uint32_t client);
  /// Ranks (on the node) that have not ended an iteration before `iteration`.
  std::vector<std::uint32_t> behind(std::int64_t iteration) const {
    return catch_up_.behind(iteration);
  }

 private:
  bool may_have(const LeaseRequest& request);

  LeasedRegions regions_;
  LeaseRequests requests_;
  CatchUp catch_up_;
  std::uint64_t common_bytes_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Which parts of the segment are leased to whom, who waits for more, and who gets it.
//
// Rules
//  - A region returns to the pool when it is sealed, all its blocks have come, and all are
//  released.
//  - Requests are served by iteration, then by arrival: a rank that is behind is never stuck after
//  one that is ahead.
//  - A rank that is ahead of others leaves them what they will need to catch up (the most they have
//  used in one
//    iteration, or their even share before they have finished one); else it would fill the segment
//    with iterations that cannot be stored before the others have written theirs.
//  - A request that nothing can ever free memory for is refused at once.
// Private to the server's event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/shm/lease_pool.hpp"
#include "lib/shm/lease_table.hpp"

namespace leat::server {

struct LeaseRequest {
  std::uint32_t client = 0;
  std::uint32_t flags = 0;  ///< shm::LeaseFlags
  std::int64_t iteration = 0;
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;
  std::int64_t since_ns = 0;  ///< when it came, of the monotonic clock
  bool was_said = false;      ///< that somebody waits for long
};

struct Grant {
  LeaseRequest request;
  shm::Region region;
};

class LeaseBook {
 public:
  /// `table`, when given, is kept in step for a server that takes over.
  LeaseBook(const shm::SegmentHeader& header, std::uint32_t clients,
            shm::LeaseTable* table = nullptr);

  /// A lease that a server which has died had given; false when it makes no sense.
  bool adopt(const shm::Lease& lease);
  /// All blocks of this client that were found in adopted leases have come. `peak`: the most bytes
  /// of them that are of one iteration.
  void resume(std::uint32_t client, std::int64_t iteration, std::uint64_t peak);
  /// Adopted regions of this client, for one block each or for many.
  std::vector<shm::Region> adopted(std::uint32_t client, bool own) const;

  /// Where the client's memory lies by preference; the last range is for large blocks. What does not
  /// fit there lies elsewhere: no rank waits while there is memory.
  void prefer(std::uint32_t client, std::vector<shm::Region> near) {
    clients_[client].near = std::move(near);
  }

  /// After adopt(): there is no memory yet for what is free, and nothing of it is given until it is
  /// supplied.
  void withhold() { pool_.withhold(); }
  std::vector<shm::Region> missing() const { return pool_.missing(); }
  void supply(shm::Region part) { pool_.supply(part); }
  /// There will be none: the buffer is smaller by that.
  void forfeit(shm::Region part) { pool_.forfeit(part); }
  /// After serve(): what the first in line, a rank that waits now, is given as soon as there is
  /// memory for it; nothing when it waits for something else.
  std::optional<shm::Region> awaited_memory();

  /// A client that waits for as many already is in error: false, and nothing is noted.
  static constexpr std::ptrdiff_t kMostRequests = 1024;
  bool request(const LeaseRequest& request);
  /// Memory for a client that has not asked for it, when there is enough to spare: nobody waits, a
  /// quarter of all stays free, and what others need to end the iteration that this client is in.
  /// `flags`: kLeaseOwn or kLeaseCommon.
  std::optional<shm::Region> give_ahead(std::uint32_t client, std::uint64_t bytes,
                                        std::uint32_t flags);
  /// Bytes of regions that this client can use in an iteration like those so far.
  std::uint64_t most_in_iteration(std::uint32_t client) const noexcept;
  /// What can be given now, in order; each goes to its client's release ring.
  std::vector<Grant> serve();
  /// After serve: the first request in line, taken off it, when nothing can ever free memory for
  /// it: no older iteration holds blocks, and no rank is behind. `oldest_unfinished`: the least
  /// iteration that holds blocks, or INT64_MAX.
  std::optional<LeaseRequest> take_hopeless(std::int64_t oldest_unfinished);

  /// After serve: the first request in line of a rank that waits now; null for none.
  const LeaseRequest* first_unmet() const noexcept;
  /// That request, taken off the line.
  LeaseRequest take_first_unmet();
  /// All requests of ranks that wait now, made in this iteration, taken off the line.
  std::vector<LeaseRequest> take_unmet_of(std::int64_t iteration);

  /// The start of the leased region that holds [offset, offset + bytes) of this client; 0 when
  /// there is none, or when with these bytes more came from the region than it has: no client uses
  /// the same bytes twice, and so it has no more blocks than memory.
  std::uint64_t region_of(std::uint32_t client, std::uint64_t offset, std::uint64_t bytes) const;
  /// Of the leased region of this client that begins there; 0: there is none.
  std::uint64_t bytes_of(std::uint32_t client, std::uint64_t region) const;
  /// The same when it is for one block only.
  std::uint64_t bytes_of_own(std::uint32_t client, std::uint64_t region) const;

  void seal(std::uint32_t client, std::uint64_t region, std::uint64_t blocks);
  void block_came(std::uint32_t client, std::uint64_t region, std::uint64_t bytes);
  void block_released(std::uint32_t client, std::uint64_t region);
  /// The client has ended this iteration, and all before it.
  void iteration_ended(std::uint32_t client, std::int64_t iteration);
  /// The client has ended: no more blocks will come from it, its requests are void.
  void client_gone(std::uint32_t client);

  /// A rank waits for memory now.
  bool somebody_waits() const noexcept;
  /// Requests that wait since before `before_ns` and were not returned here yet.
  std::vector<LeaseRequest> take_overdue(std::int64_t before_ns);
  /// Ranks (on the node) that have not ended an iteration before `iteration`.
  std::vector<std::uint32_t> behind(std::int64_t iteration) const;
  std::uint64_t used_bytes() const noexcept { return pool_.total_bytes() - pool_.free_bytes(); }
  std::uint64_t total_bytes() const noexcept { return pool_.total_bytes(); }

 private:
  struct Lease {
    std::uint64_t bytes = 0;
    bool own = false;
    bool adopted = false;
    bool sealed = false;
    std::uint64_t expected = 0, came = 0, live = 0;
    std::uint64_t came_bytes = 0;
  };
  struct Client {
    bool gone = false;
    std::int64_t iteration = 0;
    std::uint64_t held = 0;            // bytes of its leases
    std::uint64_t this_iteration = 0;  // bytes of blocks since its last end of iteration
    std::uint64_t peak = 0;            // most of those in one iteration
    std::uint64_t need = 0;            // what it still needs until reserved_until_
    std::map<std::uint64_t, Lease> leases;
    std::vector<shm::Region> near;
  };

  std::uint64_t reserved_for_others(const LeaseRequest& request);
  bool may_have(const LeaseRequest& request);
  void move_to(Client& client, std::int64_t iteration);
  std::int64_t least() const noexcept { return in_.empty() ? INT64_MAX : in_.begin()->first; }
  /// Something has changed that still_needed() looks at.
  void note_need(Client& client);
  std::uint64_t still_needed(const Client& behind, std::int64_t until_iteration) const;
  bool grant(const LeaseRequest& request, Grant* grant);
  const Lease* find(std::uint32_t client, std::uint64_t region) const;
  std::optional<shm::Region> lease(std::uint32_t client, std::uint64_t bytes, std::uint32_t flags);
  void free_if_done(Client& client, std::uint64_t region);

  shm::LeasePool pool_;
  std::uint64_t common_bytes_;
  std::vector<Client> clients_;
  shm::LeaseTable* table_;
  std::vector<LeaseRequest> waiting_;         // by (ahead, iteration, arrival)
  std::map<std::int64_t, std::uint32_t> in_;  // how many clients that are not gone are in which
  // The sum of what all still need until they have ended the iterations before this one: kept up to
  // date, since each request would else ask every client.
  std::int64_t reserved_until_ = 0;
  std::uint64_t reserved_ = 0;
};

}  // namespace leat::server

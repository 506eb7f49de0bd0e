// SPDX-License-Identifier: Apache-2.0
// Who waits for memory, and who gets what is free of the segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lib/shm/layout.hpp"
#include "server/state/memory/leased_regions.hpp"

namespace leat::server {

// Who waits for memory. Those that need it now come before those that ask ahead, and of each those
// of earlier iterations first: a rank that is behind is never stuck after one that is ahead.
// Private to the engine's thread.
struct LeaseRequest {
  std::uint32_t client = 0;
  std::uint32_t flags = 0;  ///< shm::LeaseFlags
  std::int64_t iteration = 0;
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;
  std::int64_t since_ns = 0;  ///< when it came, of the monotonic clock
  bool was_said = false;      ///< that somebody waits for long

  bool is_ahead() const noexcept { return (flags & shm::kLeaseAhead) != 0; }
  bool is_own() const noexcept { return (flags & shm::kLeaseOwn) != 0; }
};

class LeaseRequests {
 public:
  /// A client that waits for as many already is in error: false, and nothing is noted.
  static constexpr std::ptrdiff_t kMost = 1024;
  bool add(const LeaseRequest& request);
  /// The client has ended.
  void forget(std::uint32_t client);

  /// Null: nobody asks for anything.
  const LeaseRequest* first() const noexcept {
    return waiting_.empty() ? nullptr : &waiting_.front();
  }
  /// Takes it off the line.
  LeaseRequest take_first();

  // Of ranks that wait now
  bool somebody_waits() const noexcept { return first_unmet() != nullptr; }
  /// The first in line; null for none.
  const LeaseRequest* first_unmet() const noexcept;
  /// Each of them once, in the order in which they are served.
  std::vector<std::uint32_t> waiting_clients() const;
  /// All made in this iteration, taken off the line.
  std::vector<LeaseRequest> take_unmet_of(std::int64_t iteration);
  /// Those that wait since before `before_ns` and were not returned here yet.
  std::vector<LeaseRequest> take_overdue(std::int64_t before_ns);

 private:
  std::vector<LeaseRequest> waiting_;  // by (ahead, iteration, arrival)
};

// What ranks that are behind will need to catch up: the most they have used in one iteration, or
// their even share before they have finished one. A rank that is ahead leaves it to them; else it
// would fill the segment with iterations that cannot be stored before the others have written
// theirs. Private to the engine's thread.
class CatchUp {
 public:
  /// `regions` outlives this.
  CatchUp(const LeasedRegions& regions, std::uint32_t clients);

  void block_came(std::uint32_t client, std::uint64_t bytes);
  /// The client begins with this iteration. Those that have yet to begin are taken to do so too.
  void begin_at(std::uint32_t client, std::int64_t iteration);
  /// The client has ended this iteration, and all before it.
  void iteration_ended(std::uint32_t client, std::int64_t iteration);
  /// The client goes over all from its current iteration on, and is in this one: numbers without an iteration need nothing.
  void skip_to(std::uint32_t client, std::int64_t iteration);
  void client_gone(std::uint32_t client);
  /// As a server that has died had it; which numbers have no iteration is not known, so those count that was_in() tells. `peak`: see most_in_iteration().
  void resume(std::uint32_t client, std::int64_t iteration, std::uint64_t peak);

  /// After resume(): there are blocks of this iteration.
  void was_in(std::int64_t iteration) { is_stale_ = there_.insert(iteration).second || is_stale_; }

  bool is_gone(std::uint32_t client) const noexcept { return clients_[client].gone; }
  /// The least iteration that a client is in; INT64_MAX when all are gone.
  std::int64_t least() const noexcept { return in_.empty() ? INT64_MAX : in_.begin()->first; }
  /// Clients that have not ended an iteration before `iteration`.
  std::vector<std::uint32_t> behind(std::int64_t iteration) const;
  /// Bytes of blocks.
  std::uint64_t most_in_iteration(std::uint32_t client) const noexcept;

  /// Bytes that clients still take until they have ended all iterations before this one.
  std::uint64_t needed_until(std::int64_t iteration);
  /// Of all but this client, until they have ended the iteration that it is in.
  std::uint64_t needed_beside(std::uint32_t client);

 private:
  struct Client {
    bool gone = false, has_begun = false;
    bool is_fresh = true;  // it has ended no iteration: what it needs is not known
    std::int64_t iteration = 0;
    std::uint64_t this_iteration = 0;  // bytes of blocks since its last end of iteration
    std::uint64_t peak = 0;            // most of those in one iteration
    std::uint64_t need = 0;            // what it still needs until reserved_until_
  };

  void move_to(Client& client, std::int64_t iteration);
  void leave(const Client& client);
  /// Something has changed that need_of() looks at.
  void update_need(Client& client);
  std::uint64_t need_of(const Client& client) const;
  std::uint64_t iterations_in(std::int64_t first, std::int64_t end) const;

  const LeasedRegions& regions_;
  std::vector<Client> clients_;
  std::map<std::int64_t, std::uint32_t> in_;  // how many clients that are not gone are in which
  // From `has_gaps_from_` on only these numbers have an iteration: clients have ended it.
  std::int64_t has_gaps_from_ = INT64_MAX;
  std::set<std::int64_t> there_;
  bool is_stale_ = false;  // what all still need has to be counted anew
  // The sum of what all still need until they have ended the iterations before this one: kept up to
  // date, since each request would else ask every client.
  std::int64_t reserved_until_ = 0;
  std::uint64_t reserved_ = 0;
};

// Who gets what is free of the segment. Requests are served in line (LeaseRequests), as long as
// they leave others what they will need to catch up (CatchUp); one that nothing can ever free
// memory for is refused at once. Private to the engine's thread.
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
  void was_in(std::int64_t iteration) { catch_up_.was_in(iteration); }
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
  /// The client begins with this iteration.
  void begin_at(std::uint32_t client, std::int64_t iteration) {
    catch_up_.begin_at(client, iteration);
  }
  /// The client has ended this iteration, and all before it.
  void iteration_ended(std::uint32_t client, std::int64_t iteration) {
    catch_up_.iteration_ended(client, iteration);
  }
  void skip_to(std::uint32_t client, std::int64_t iteration) {
    catch_up_.skip_to(client, iteration);
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

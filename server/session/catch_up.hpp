// SPDX-License-Identifier: Apache-2.0
// What ranks that are behind will need to catch up: the most they have used in one iteration, or
// their even share before they have finished one. A rank that is ahead leaves it to them; else it
// would fill the segment with iterations that cannot be stored before the others have written
// theirs. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "server/session/leased_regions.hpp"

namespace leat::server {

class CatchUp {
 public:
  /// `regions` outlives this.
  CatchUp(const LeasedRegions& regions, std::uint32_t clients);

  void block_came(std::uint32_t client, std::uint64_t bytes);
  /// The client has ended this iteration, and all before it.
  void iteration_ended(std::uint32_t client, std::int64_t iteration);
  void client_gone(std::uint32_t client);
  /// As a server that has died had it. `peak`: see most_in_iteration().
  void resume(std::uint32_t client, std::int64_t iteration, std::uint64_t peak);

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
    bool gone = false;
    std::int64_t iteration = 0;
    std::uint64_t this_iteration = 0;  // bytes of blocks since its last end of iteration
    std::uint64_t peak = 0;            // most of those in one iteration
    std::uint64_t need = 0;            // what it still needs until reserved_until_
  };

  void move_to(Client& client, std::int64_t iteration);
  void leave(const Client& client);
  /// Something has changed that need_of() looks at.
  void note_need(Client& client);
  std::uint64_t need_of(const Client& client) const;

  const LeasedRegions& regions_;
  std::vector<Client> clients_;
  std::map<std::int64_t, std::uint32_t> in_;  // how many clients that are not gone are in which
  // The sum of what all still need until they have ended the iterations before this one: kept up to
  // date, since each request would else ask every client.
  std::int64_t reserved_until_ = 0;
  std::uint64_t reserved_ = 0;
};

}  // namespace leat::server

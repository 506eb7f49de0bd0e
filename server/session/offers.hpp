// SPDX-License-Identifier: Apache-2.0
// What each client is given before it asks (shm/offers.hpp): for each region that it has used up,
// another of that size, and at the end of an iteration as many of each size as it has used in one,
// while there is memory to spare. So a client finds in an iteration what it needed in those before.
// What is offered is taken back as soon as somebody waits for memory.
// Private to the server's event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lib/shm/offers.hpp"
#include "lib/shm/segment.hpp"
#include "server/session/lease_book.hpp"

namespace leat::server {

class Offers {
 public:
  Offers(const shm::Segment& segment, LeaseBook& leases);

  /// The client has used up a region of so many bytes. `flags`: kLeaseOwn or kLeaseCommon.
  void replace(std::uint32_t client, std::uint64_t bytes, std::uint32_t flags);
  void iteration_ended(std::uint32_t client);
  /// Takes back what nobody has claimed. True when there was something.
  bool withdraw_all();
  /// The client has ended: nothing is its own any more.
  void client_gone(std::uint32_t client);
  /// What a server that has died had offered to this client, and it has not claimed: withdrawn now.
  /// Where regions begin, as words say that the client can write.
  std::vector<std::uint64_t> take_over(std::uint32_t client);

 private:
  using Kind = std::pair<std::uint64_t, std::uint32_t>;  // bytes, flags
  struct Used {
    std::uint32_t now = 0, most = 0;  // in this iteration, in any
  };
  struct Client {
    std::vector<shm::OfferGiver> slots;
    std::map<Kind, Used> used;
    std::size_t next = 0;  // the slot that was used longest ago
    bool any = false;
  };
  bool offer(std::uint32_t client, const Kind& kind);
  bool has_room_for(std::uint32_t client, const Kind& kind) const noexcept;
  static std::uint32_t standing(const Client& client, const Kind& kind) noexcept;
  bool withdraw(std::uint32_t client, shm::OfferGiver& slot);
  bool withdraw_oldest(std::uint32_t client);
  static std::uint64_t standing_bytes(const Client& client) noexcept;

  LeaseBook& leases_;
  std::vector<Client> clients_;
};

}  // namespace leat::server

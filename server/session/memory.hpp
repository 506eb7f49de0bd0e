// SPDX-License-Identifier: Apache-2.0
// The memory of the buffer: who has which part of it, who is given what, what of it is yet to be
// taken from the system, and what ranks are told of that. Who is refused when there is none, others
// decide (engine/overflow.hpp). Private to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "lib/shm/lease_table.hpp"
#include "server/session/clients.hpp"
#include "server/session/lease_book.hpp"
#include "server/session/offers.hpp"
#include "server/session/populator.hpp"
#include "server/session/run.hpp"

namespace leat::server {

class Memory {
 public:
  /// `wake` is called, from any thread, when has_news().
  Memory(const Run& run, Clients& clients, const std::function<void()>& wake);

  LeaseBook& leases() noexcept { return leases_; }
  LeasedRegions& regions() noexcept { return leases_.regions(); }
  const LeasedRegions& regions() const noexcept { return leases_.regions(); }
  LeaseRequests& requests() noexcept { return leases_.requests(); }
  const LeaseRequests& requests() const noexcept { return leases_.requests(); }
  Offers& offers() noexcept { return offers_; }
  const shm::LeaseTable& table() const noexcept { return lease_table_; }

  /// Gives what can be given now to those who have asked.
  void give();
  /// That ranks have waited for memory that they were given, all together.
  std::int64_t waited_ns() const noexcept { return waited_ns_; }
  /// What was offered and nobody has claimed, for those who wait: true when there was any.
  bool withdraw_offers() { return requests().first_unmet() && offers_.withdraw_all(); }
  void refuse(const LeaseRequest& request, shm::RefusalReason reason, std::int64_t iteration);
  /// The iteration of the request is left out.
  void answer_dropped(const LeaseRequest& request);
  /// Nobody reads it any more.
  void release(const Block& block);

  /// A block has come that lies in this lease.
  void block_came(std::uint32_t client, std::uint64_t lease, std::uint64_t bytes);
  void sealed(std::uint32_t client, const shm::Event& event);
  void iteration_ended(std::uint32_t client, std::int64_t iteration);
  void client_gone(std::uint32_t client);

  // Memory that is yet to be taken from the system
  /// Nothing is there but what is taken, here or behind the run.
  void start_populating();
  /// When it is known where it is to lie.
  void populate_in_background();
  void stop_populating() noexcept { populator_.stop(); }
  bool has_news() const noexcept { return populator_.has_news(); }
  void take_populated();
  /// True as long as a rank waits for memory that may be there: until it is, the buffer is not
  /// full.
  bool populate_for_waiting();

 private:
  int take(shm::Region slice) const;

  const Run& run_;
  Clients& clients_;
  shm::LeaseTable lease_table_;
  LeaseBook leases_;
  Offers offers_;
  Populator populator_;
  std::int64_t waited_ns_ = 0;
};

}  // namespace leat::server

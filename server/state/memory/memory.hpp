// SPDX-License-Identifier: Apache-2.0
// The memory of the buffer: who has which part of it, who is given what, asked or before it asks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "lib/shm/leases.hpp"
#include "lib/shm/segment.hpp"
#include "server/state/clients/clients.hpp"
#include "server/state/memory/lease_book.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// Takes the memory of the segment from the system while the run goes on: a start that waits for all pages of a large buffer
// takes seconds. The event loop gives out only what has been taken, so that no rank is ever killed for a page that is not
// there; what a rank waits for the loop takes itself, a slice at a time. It works from both ends: small blocks go to the low
// one, large ones to the high one.

/// All is for the event loop.
class Prefaulter {
 public:
  /// 0, or the errno for which there is no such memory. Called from several threads.
  using Take = std::function<int(shm::Region)>;
  /// What has become of slices since it was asked for last.
  struct News {
    std::vector<shm::Region> taken;
    std::vector<shm::Region> lost;  ///< these, and all that nobody had begun, are given up
    int code = 0;                   ///< why; 0: nothing is lost
  };
  /// `wake` is called, from any thread, when there is news.
  Prefaulter(Take take, std::function<void()> wake);
  ~Prefaulter() { stop(); }

  /// Before start(): ranges that are to be taken, by take_one_in() and by threads.
  void add(const std::vector<shm::Region>& ranges);
  /// Starts so many threads in all. The system may have no room for them: take_one_in() goes on.
  void start(Executor& executor, unsigned threads);
  /// Ends the threads after the slice that each is at.
  void stop() noexcept;

  bool has_news() const noexcept { return has_news_.load(std::memory_order_acquire); }
  News take_news();
  /// Takes the first slice that lies in this range and that nobody has begun: a millisecond of
  /// work.
  void take_one_in(shm::Region range);

 private:
  void run();
  bool claim(bool high, shm::Region* slice);
  void take(shm::Region slice);
  void settle(shm::Region slice, int code);

  Take take_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::deque<shm::Region> todo_;  // in order; nobody has begun them
  News news_;
  std::atomic<bool> has_news_{false}, stopping_{false};
  std::vector<std::jthread> threads_;
};

// What each client is given before it asks (shm/leases.hpp): for each region that it has used up,
// another of that size, and at the end of an iteration as many of each size as it has used in one,
// while there is memory to spare. So a client finds in an iteration what it needed in those before.
// What is offered is taken back as soon as somebody waits for memory.
// Private to the server's event loop.
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

// The memory of the buffer: who has which part of it, who is given what, what of it is yet to be
// taken from the system, and what ranks are told of that. Who is refused when there is none, others
// decide (engine/overflow.hpp). Private to the engine's thread.
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
  /// Its first iteration has this number.
  void begin_at(std::uint32_t client, std::int64_t iteration) {
    leases_.begin_at(client, iteration);
  }
  /// It goes over all iterations from its current one on, and is in this one.
  void skip_to(std::uint32_t client, std::int64_t iteration) { leases_.skip_to(client, iteration); }
  void client_gone(std::uint32_t client);

  // Memory that is yet to be taken from the system
  /// Nothing is there but what is taken, here or behind the run.
  void start_prefaulting();
  /// When it is known where it is to lie.
  void prefault_in_background();
  void stop_prefaulting() noexcept { prefaulter_.stop(); }
  bool has_news() const noexcept { return prefaulter_.has_news(); }
  void take_prefaulted();
  /// True as long as a rank waits for memory that may be there: until it is, the buffer is not
  /// full.
  bool prefault_for_waiting();

 private:
  int take(shm::Region slice) const;

  const Run& run_;
  Clients& clients_;
  shm::LeaseTable lease_table_;
  LeaseBook leases_;
  Offers offers_;
  Prefaulter prefaulter_;
  std::int64_t waited_ns_ = 0;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Events from this client to its server, in order, those that found no room included, and the doorbell that wakes it.
// Never waits. Called with the session's mutex held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/shm/handshake.hpp"
#include "lib/shm/layout.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/spsc_ring.hpp"

namespace leat::client {

// What the server must be told and found no room in the event ring: kept in order, and sent before
// anything else. Without it a server that was stopped for a while would take what comes next for
// part of an iteration that this client has ended, and would never learn what was refused
// meanwhile.
class UnsentEvents {
 public:
  /// A server that is stopped for hours must not fill the memory of the simulation. Beyond this the
  /// ends of several iterations become one, of a parameter the last value is kept, and of writes
  /// that failed how many.
  static constexpr std::size_t kMost = 4096;

  /// Never fails: what is not kept is counted as a write that was lost.
  void store(const shm::Event& event) noexcept;
  bool empty() const noexcept { return empty_; }
  /// To be sent next; not when empty.
  const shm::Event& first() const noexcept { return others_.block > 0 ? others_ : events_[first_]; }
  void pop_first() noexcept;

 private:
  bool merge(const shm::Event& event) noexcept;
  bool append(const shm::Event& event) noexcept;
  shm::Event* last_like(const shm::Event& event, bool of_any_iteration) noexcept;
  void count(const shm::Event& event) noexcept;

  bool empty_ = true;  // one word to look at before each event
  std::vector<shm::Event> events_;
  std::size_t first_ = 0;
  shm::Event others_{};  // writes that failed, of which nothing else is known any more
};

/// The way of all events to the server.
class EventSender {
 public:
  EventSender(const shm::Segment& segment, const shm::ClientArea& area,
              std::unique_ptr<shm::ToServer> link);

  /// Hands one event over, and with it the memory that it is about. False, with nothing changed:
  /// there is no room.
  bool push_at_once(const shm::Event& event) noexcept {
    if (!has_room()) return false;
    put(event);
    return true;
  }
  /// The same for a block of an iteration, whose header is at `offset`. `begun_ns`: when its call began; 0: nobody wants to know.
  bool push_block_at_once(std::uint64_t offset, std::int64_t iteration,
                          std::int64_t begun_ns) noexcept;
  /// The same for what the server must learn in any case: without room it is kept, and sent before
  /// anything else is.
  void tell_now(const shm::Event& event) noexcept {
    if (!push_at_once(event)) store(event);
  }
  void store(const shm::Event& event) noexcept { unsent_.store(event); }
  /// Sends what was kept as far as there is room. True when there is room for more.
  bool has_room() noexcept { return unsent_.empty() ? !events_.full() : send_unsent(); }
  bool ring_is_full() noexcept { return events_.full(); }
  /// How many were handed over so far.
  std::uint64_t sent() const noexcept { return events_.next(); }
  /// Calls `call` with each event that lies in the ring and was not taken.
  template <class Call>
  void for_each_left(Call call) const {
    events_.for_each_left(call);
  }
  /// `at_once`: also when it will look by itself in a moment.
  void wake_server(bool at_once) noexcept;

  /// The way to the server beside the rings.
  shm::ToServer& link() const noexcept { return *link_; }
  /// Tells the server of a call that has failed. False: there is no room.
  bool report(const shm::Report& report) noexcept;
  /// Tells the server what all servers of the run say of themselves; and each that takes over.
  bool introduce(std::string offers) noexcept;
  /// From now on to a server that has taken over, which is told all reports: that since `said_until_ns` the one before it may
  /// not have said them.
  void connect(std::unique_ptr<shm::ToServer> link, std::int64_t said_until_ns) noexcept;
  /// Those reports, when there is no other server.
  void print_reports(std::int64_t said_until_ns) const noexcept;

 private:
  /// There is room. The server is woken for what somebody may wait for; blocks and values of
  /// parameters have time until their iteration ends, or a good part of the ring is full.
  void put(const shm::Event& event) noexcept;
  /// The number is that of an event which is not there yet: only with both is the block handed
  /// over.
  void mark_handed_over(shm::BlockHeader& header, std::int64_t iteration) noexcept {
    header.iteration = iteration;
    std::atomic_ref(header.event).store(events_.next() + 1, std::memory_order_release);
  }
  bool send_unsent() noexcept;
  static void end_at_now(shm::Event& event, std::int64_t begun_ns) noexcept;
  bool has_many() const noexcept { return events_.next() >= wake_at_; }

  const shm::Segment& segment_;
  shm::ServerState& server_;
  std::unique_ptr<shm::ToServer> link_;
  shm::RingProducer<shm::Event> events_;
  UnsentEvents unsent_;
  std::vector<std::pair<shm::Report, std::int64_t>> reports_;  // and when it was sent
  std::string offers_;
  std::uint64_t most_unannounced_;
  std::uint64_t wake_at_;             // the number of the event for which it is woken in any case
  std::uint32_t rung_for_sleep_ = 0;  // the server's sleep for which the doorbell was rung
};

// Here, so that a write of a small block is one function: half of what it costs would be calls.

inline bool EventSender::push_block_at_once(std::uint64_t offset, std::int64_t iteration,
                                            std::int64_t begun_ns) noexcept {
  if (!has_room()) return false;
  auto& header = *segment_.at<shm::BlockHeader>(offset);
  mark_handed_over(header, iteration);
  shm::Event& event = events_.slot();
  event.kind = static_cast<std::uint32_t>(shm::EventKind::block);
  event.flags = 0;
  event.subject = header.variable;
  event.block = header.block;
  event.iteration = iteration;
  event.offset = offset;
  event.bytes = sizeof header + header.data_bytes;
  event.token = event.inside_ns = 0;
  event.at_ns = 0;
  if (begun_ns != 0) [[unlikely]]
    end_at_now(event, begun_ns);
  events_.push_slot();
  if (has_many()) wake_server(true);
  return true;
}

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// The ranks of this node, and the server's end of each.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/handshake.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/spsc_ring.hpp"
#include "server/state/clients/block_reader.hpp"
#include "server/state/journal/records.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// The server's end of one client: its rings and its connection. Private to the engine's thread.
class ClientLink {
 public:
  using Phase = shm::ClientPhase;

  ClientLink(const shm::Segment& segment, std::uint32_t index, const model::Model& model);

  void attach(const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection);
  /// As it stood with a server that has died: its events from there on are taken, and it is away
  /// until it attaches again.
  void resume();
  void come_back(const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection);
  bool is_away() const noexcept {
    return !connection_ &&
           (phase_ == Phase::attached || phase_ == Phase::finalized || phase_ == Phase::cut_off);
  }
  /// Was attached to the server before this one, and has yet to come back.
  bool is_awaited() const noexcept { return !connection_ && phase_ == Phase::attached; }
  /// Its process lives, whether it has attached again or not.
  bool lives() const noexcept { return segment_.client_is_there(index_); }
  /// What a server that takes over goes on with: all events popped so far have had their effect.
  void save(std::int64_t iteration) noexcept;
  const shm::ClientRecord& saved() const noexcept;

  /// The client has ended, well (`finalized`) or not (`dead`), or may live (`cut_off`).
  void leave(Phase how) noexcept { phase_ = how; }
  Phase phase() const noexcept { return phase_; }
  bool is_gone() const noexcept { return phase_ != Phase::absent && phase_ != Phase::attached; }
  /// Null: it has none.
  shm::ToClient* connection() const noexcept { return connection_.get(); }
  void disconnect() noexcept { connection_.reset(); }
  /// -1: not known yet.
  std::int32_t rank() const noexcept { return hello_.rank; }
  /// It has not attached, or was given up before it had.
  bool never_came() const noexcept { return !came_; }
  /// Which rank it will be, where that is known before it comes.
  void expect(std::int32_t rank) noexcept {
    if (!came_) hello_.rank = rank;
  }
  const os::CpuSet& affinity() const noexcept { return hello_.affinity; }

  /// The next event; false when there is none. The slot may be reused by the client after save().
  bool pop(shm::Event& event) noexcept;
  bool has_events() noexcept { return !events_.empty(); }
  /// The ring's counters make no sense: the client's memory is corrupt.
  bool is_broken() const noexcept { return events_.broken(); }

  /// It has told of so many writes that failed.
  void count_failed(std::uint64_t writes) noexcept { failed_ += writes; }
  /// Of how many more it has not, which are told of from now on.
  std::uint64_t take_untold() noexcept;
  static constexpr std::uint64_t kMostUntold = std::uint64_t{1} << 40;

  /// Pushes into the release ring and wakes the client if it waits. False when the ring is full:
  /// the client has not taken any of what it asked for, so it cannot need this.
  bool release(const shm::Release& release) noexcept;
  /// Wakes the client if it waits for room in its ring. To be called after events were taken.
  void wake_if_waiting() noexcept;

  /// What it says of its blocks, and the integers that it has set.
  BlockReader& blocks() noexcept { return blocks_; }

 private:
  const shm::Segment& segment_;
  shm::ClientArea area_;
  shm::RingConsumer<shm::Event> events_;
  shm::RingProducer<shm::Release> releases_;
  std::unique_ptr<shm::ToClient> connection_;
  shm::Hello hello_{};
  Phase phase_ = Phase::absent;
  bool came_ = false;
  std::uint32_t index_;
  std::uint64_t failed_ = 0;
  BlockReader blocks_;
};

// The ranks of this node, by their numbers on it. Private to the engine's thread.
class Clients {
 public:
  explicit Clients(const Run& run);

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(links_.size()); }
  ClientLink& operator[](std::uint32_t index) noexcept { return links_[index]; }
  const ClientLink& operator[](std::uint32_t index) const noexcept { return links_[index]; }
  auto begin() noexcept { return links_.begin(); }
  auto end() noexcept { return links_.end(); }
  auto begin() const noexcept { return links_.begin(); }
  auto end() const noexcept { return links_.end(); }

  bool all_gone() const noexcept;
  bool all_have_attached() const noexcept;
  bool none_has_come() const noexcept;
  /// All talk to this server.
  bool all_are_here() const noexcept;
  /// One was attached to the server before this one, and has yet to come back.
  bool any_awaited() const noexcept;
  /// The same, of those whose process lives; those too who only wait for the last word. One that is
  /// cut off computes, maybe for hours.
  bool any_away() const noexcept;
  /// One of those that are attached has pushed an event: what others write is not taken.
  bool any_speaks() noexcept;
  /// One that has yet to come. One that lives had attached to the server before this one, and comes
  /// back.
  bool is_expected(std::uint32_t index) const noexcept;

  /// Ranks of this node that belong to its other servers, by their number on the node. They come to
  /// the first server, which tells them where to go; it waits for them as it does for its own: a
  /// rank that came later would start another first server.
  void other_came(std::int32_t node_rank) noexcept;
  bool any_other_expected() const noexcept { return !others_expected_.empty() && !gave_up_others_; }
  const std::set<std::int32_t>& others_expected() const noexcept { return others_expected_; }
  void give_up_others() noexcept { gave_up_others_ = true; }
  /// For the journal: those that came.
  std::vector<std::int32_t> others_seen() const;

  /// Those that came, also when they are gone.
  Ranks known_ranks() const;
  /// "rank 3"
  std::string name_of(std::uint32_t index) const;
  /// Says what of this client made no sense; not for ever.
  void complain(std::uint32_t index, const std::string& what);

 private:
  const Run& run_;
  std::vector<ClientLink> links_;
  std::vector<int> complaints_;  // by client
  std::set<std::int32_t> others_expected_;
  bool gave_up_others_ = false;
};

// How often each rank of this server has signalled which event. Private to the engine's thread.
class CallCounts {
 public:
  CallCounts(std::size_t events, const Clients& clients);

  void add(std::size_t event, std::uint32_t client, std::uint32_t times) {
    counts_[event][client] += times;
  }
  std::size_t events() const noexcept { return counts_.size(); }
  /// As often as all have that can; -1: none can.
  std::int64_t least(std::size_t event) const;
  /// As often as one of them.
  std::int64_t most(std::size_t event) const;
  /// Who has more often than who.
  std::string difference(std::size_t event) const;

  const CountsByClient& all() const noexcept { return counts_; }
  void assign(CountsByClient counts) { counts_ = std::move(counts); }

 private:
  const Clients& clients_;
  CountsByClient counts_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The server's end of one client: its rings and its connection. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/model/model.hpp"
#include "lib/shm/handshake.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/spsc_ring.hpp"
#include "lib/shm/transport.hpp"
#include "server/session/block_reader.hpp"

namespace leat::server {

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
  const platform::CpuSet& affinity() const noexcept { return hello_.affinity; }

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

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// From blocks to whole iterations, and iterations that are dropped whole.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/state/iterations/iteration.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// From blocks to whole iterations: open, then complete when every client of the node has ended it
// or is gone. Private to the server's event loop.

/// What one client wrote in one iteration.
class BlocksOfClient {
 public:
  /// The block that it replaces.
  std::optional<Block> add(const Block& block);
  /// Null when there is none of this variable and number.
  const Block* find(const Block& like) const noexcept;
  std::vector<Block>& blocks() noexcept { return blocks_; }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }
  /// By variable and number.
  void sort();

 private:
  std::size_t place_of(const Block& block) const noexcept;
  void grow();

  std::vector<Block> blocks_;
  std::vector<std::uint32_t> places_;  // a hash table: 1 + index into blocks_; 0: free
};

/// Adding a block and asking for what is complete cost the same however many clients, variables
/// and blocks there are.
class IterationTracker {
 public:
  explicit IterationTracker(std::uint32_t clients);

  /// Adds a block to its client's current iteration. When it replaces one (same variable and block
  /// number), that one is returned for its memory to be released; and so is this one when its
  /// iteration is left out.
  std::optional<Block> add(const Block& block) { return add_to(current(block.client), block); }
  std::optional<Block> add_to(std::int64_t iteration, const Block& block);
  /// What add_to() would replace; null when there is none.
  const Block* find(std::int64_t iteration, const Block& like) const;
  /// It comes to be complete though nobody writes in it. Nothing when it is left out.
  void touch(std::int64_t iteration);
  /// The next one that can be touched; nothing when all clients are gone.
  std::optional<std::int64_t> next() const;
  /// The client has ended all before this one already.
  void resume(std::uint32_t client, std::int64_t iteration);
  /// The first iteration of the client has this number. What came of it before does not vary in time, and is of this iteration.
  void begin_at(std::uint32_t client, std::int64_t iteration);
  /// The client's first iteration; nothing: it is not known yet.
  std::optional<std::int64_t> first_of(std::uint32_t client) const {
    return clients_[client].first;
  }
  /// The least of those; 0 when none is known. No client has anything before it, unless one begins there that has yet to come.
  std::int64_t first() const noexcept;
  /// There is no iteration before the first one of all clients, when all that are here have begun. What clients wrote there that
  /// have died since is of the first one. True: there was one, opened for what may happen in it.
  bool close_before_first();
  /// What came to be of an iteration that is left out, by begin_at() or close_before_first(): for its memory to be released.
  std::vector<Block> take_left_out() { return std::exchange(left_out_, {}); }
  /// The client has ended this iteration, and all before it.
  void ended(std::uint32_t client, std::int64_t iteration);
  /// The client leaves out all from its current iteration on, which it has written nothing of, and is in this one.
  void skip_to(std::uint32_t client, std::int64_t iteration);
  /// The most that a client has ended; of those before resume(), all are counted from the first one on.
  std::int64_t ended_count() const noexcept;
  /// A client that has left out an iteration which another one has written in; the first one that was found.
  struct Unlike {
    std::uint32_t client = 0;
    std::int64_t iteration = 0;
  };
  const std::optional<Unlike>& unlike() const noexcept { return unlike_; }
  /// Leaves an open iteration out: its blocks so far, for their memory to be released. Nothing when
  /// it is left out already. Later iterations do not wait for it.
  std::optional<std::vector<Block>> drop(std::int64_t iteration);
  /// It is left out, and some client has yet to end it.
  bool is_dropped(std::int64_t iteration) const { return dropped_.count(iteration) > 0; }
  /// `died`: it had not finalized, so its current iteration is not complete.
  void gone(std::uint32_t client, bool died);

  /// The next iteration that all clients have ended, in ascending order and no later than `last`; its
  /// blocks by variable, rank, block.
  std::optional<Iteration> take_complete(std::int64_t last = INT64_MAX);

  std::int64_t current(std::uint32_t client) const { return clients_[client].current; }
  bool empty() const noexcept { return open_.empty(); }
  bool holds(std::int64_t iteration) const { return open_.count(iteration) > 0; }
  /// Some block of it is like that.
  bool any(std::int64_t iteration, const std::function<bool(const Block&)>& is_like_that) const;
  /// The least iteration that holds blocks; INT64_MAX for none.
  std::int64_t oldest() const noexcept;
  /// The least that some client is in: all have ended those before. INT64_MAX when all are gone.
  std::int64_t least() const noexcept;

 private:
  struct Client {
    std::int64_t current = 0;  // the iteration it is in
    std::optional<std::int64_t> first{};
    std::int64_t ended = 0, resumed_at = 0;
    std::int64_t skipped_from = 0, skipped_to = 0;  // the last that it has left out
    bool gone = false;
  };
  using Open = std::vector<BlocksOfClient>;  // by client

  void move_to(std::uint32_t client, std::int64_t iteration);
  void move_blocks(std::uint32_t client, std::int64_t from, std::int64_t to);
  void look_who_skips(std::int64_t iteration);

  std::vector<Client> clients_;
  std::optional<Unlike> unlike_;
  std::map<std::int64_t, std::uint32_t> in_;  // how many clients that are not gone are in which
  std::int64_t died_in_ = INT64_MAX;  // the first iteration that a dead client had not ended
  std::map<std::int64_t, Open> open_;
  std::set<std::int64_t> dropped_;  // that some client has yet to end
  std::vector<Block> left_out_;     // were moved into one of those
};

// What happens to iterations, for those who watch the run: how much it was so far, and, while
// somebody wants to know, each event. Private to the engine's thread.
struct IterationEvent {
  enum class Kind {
    open,      ///< its first block has come
    complete,  ///< all ranks have ended it, and it goes to stores and scripts
    stored,    ///< `subject`, a store, has it
    failed,    ///< `subject`, a store, does not have it; `text` says why
    skipped,   ///< `subject`, a store, was busy and has left it out
    dropped,   ///< it is left out; `text` says why
    steered,   ///< `subject`, a parameter, has the value `text` from it on
    signalled  ///< `subject`, an event of the XML, happens in it
  };
  Kind kind = Kind::open;
  std::int64_t iteration = 0;
  std::string subject{}, text{};
  std::string who{};        ///< steered
  std::uint64_t bytes = 0;  ///< complete
  std::int32_t rank = -1;   ///< signalled; -1: not by one rank
  std::uint32_t times = 1;  ///< signalled
  bool is_set_too = false;  ///< steered: the simulation sets it as well, in each iteration
};

class IterationEvents {
 public:
  struct Totals {
    std::uint64_t iterations = 0, bytes = 0;  ///< that were complete
  };

  /// From now on each event is kept until it is taken, or none is.
  void watch(bool watched) noexcept {
    watched_ = watched;
    if (!watched) events_.clear();
  }
  bool is_watched() const noexcept { return watched_ || trace_; }
  /// Each event goes there too.
  void trace_with(std::function<void(const IterationEvent&)> trace) { trace_ = std::move(trace); }

  void add(IterationEvent event) {
    if (trace_) trace_(event);
    if (watched_) events_.push_back(std::move(event));
  }
  void complete(std::int64_t iteration, std::uint64_t bytes) {
    ++totals_.iterations;
    totals_.bytes += bytes;
    add({IterationEvent::Kind::complete, iteration, {}, {}, {}, bytes, -1, 1});
  }

  void signalled(std::int64_t iteration, const std::string& event, std::int32_t rank,
                 std::uint32_t times) {
    add({IterationEvent::Kind::signalled, iteration, event, {}, {}, 0, rank, times});
  }

  std::vector<IterationEvent> take() { return std::exchange(events_, {}); }
  const Totals& totals() const noexcept { return totals_; }

 private:
  bool watched_ = false;
  std::function<void(const IterationEvent&)> trace_;
  std::vector<IterationEvent> events_;
  Totals totals_;
};

// Iterations that were left out, whole and on all ranks. Private to the engine's thread.
class Dropped {
 public:
  Dropped(const Run& run, const IterationTracker& iterations, SessionJournal& journal)
      : run_(run), iterations_(iterations), journal_(journal) {}

  /// From now on; all ranks see it.
  void add(std::int64_t iteration);
  bool has(std::int64_t iteration) const { return numbers_.count(iteration) > 0; }
  std::size_t count() const noexcept { return numbers_.size(); }
  const std::set<std::int64_t>& numbers() const noexcept { return numbers_; }
  /// "3 iterations dropped (4, 7-8)"; "" for none.
  std::string text() const;

  // Recovery where a server has died
  void apply(const IterationsDropped& record) {
    numbers_.insert(record.iterations.begin(), record.iterations.end());
  }
  std::vector<JournalRecord> snapshot() const;

 private:
  const Run& run_;
  const IterationTracker& iterations_;
  SessionJournal& journal_;
  std::set<std::int64_t> numbers_;
};

}  // namespace leat::server

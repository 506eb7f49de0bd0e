// SPDX-License-Identifier: Apache-2.0
// The ledger: of each variable, rank and iteration what was written, which stores have it, and what was dropped or lost,
// and why.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/state/iterations/iteration.hpp"
#include "server/state/ledger/incidents.hpp"
#include "server/state/ledger/rows.hpp"

namespace leat::server {

// Writes that failed at a client. They wait for the end of their iteration, so that one row says it
// of all ranks.
class FailedWrites {
 public:
  /// So many wait; with more, rows come earlier.
  static constexpr std::size_t kMost = 4096;

  struct One {  // write, or several
    std::int64_t iteration = 0;
    std::uint32_t place = 0, why = 0;  ///< numbers of the table
    std::int32_t rank = 0;
    std::uint64_t blocks = 1, bytes = 0;
    auto operator<=>(const One&) const = default;
  };

  void add(const One& one, LedgerTable* table);
  /// Makes rows of those up to this iteration.
  void settle(std::int64_t until, LedgerTable* table);
  /// Of those that wait.
  bool has(std::uint32_t place, std::int64_t iteration) const;
  /// How many wait.
  std::uint64_t writes() const noexcept { return writes_; }

 private:
  std::vector<One> all_;
  std::uint64_t writes_ = 0;
  Ranks ranks_;  // of the call in progress; kept so that it allocates nothing
};

// Iterations that were handed over, and of which it is not known yet what became of them.

/// What was found in memory when everything else of the run was dead.
struct DrainCount {
  std::uint64_t iterations = 0, blocks = 0, bytes = 0;
};

/// Of one variable in one iteration.
struct Written {
  std::uint32_t place = 0, ranks = 0;
  std::uint64_t blocks = 0, bytes = 0;
};
Row row_of(const Written& written, std::int64_t iteration, std::uint32_t fate);

class OpenIterations {
 public:
  /// In the place of what was said of it before.
  void add(const Iteration& iteration, RankSets* sets);
  /// Nothing when it is not open.
  std::optional<std::vector<Written>> take(std::int64_t iteration);
  /// The same, and it stays open.
  std::optional<std::vector<Written>> look_at(std::int64_t iteration) const;
  std::size_t size() const noexcept { return open_.size(); }

  /// From now on all that is added is counted too.
  void begin_drain() { drained_.emplace(); }
  const std::optional<DrainCount>& drained() const noexcept { return drained_; }

 private:
  std::map<std::int64_t, std::vector<Written>> open_;
  std::optional<DrainCount> drained_;
  Ranks ranks_;  // of the call in progress; kept so that it allocates nothing
};

// How many iterations stores have, each counted when the last store is done with it.
class IterationCounts {
 public:
  /// Outcomes of one iteration: its result, or what comes late, which may do so before that. True:
  /// there are no more of it.
  bool take(const PipelineResult& result);

  /// All stores that wanted something of them have it, but for those that have left it out.
  std::uint64_t stored() const noexcept { return stored_; }
  /// All stores that wanted something of them have left it out.
  std::uint64_t skipped() const noexcept { return skipped_; }
  /// At least one store that wanted something of them does not have it.
  std::uint64_t failed() const noexcept { return failed_; }

 private:
  struct Known {
    std::int64_t awaited = 0;  // stores whose outcome is to come
    bool has_come = false, is_stored = false, was_left_out = false, has_failed = false;
  };

  void count(const Known& known) noexcept;

  std::map<std::int64_t, Known> known_;  // of those that some store is still at work on
  std::uint64_t stored_ = 0, skipped_ = 0, failed_ = 0;
};

// The ledger: of each variable, rank and iteration what was written, which stores have it, and what
// was dropped or lost, and why. One thread, the event loop; a copy may go to another thread.
//
// An iteration is noted when it is passed on, and gets its fate with the pipeline's result: then
// each of its variables costs one row at most, mostly none, because its row goes on. A thousand
// variables of 128 ranks over any number of iterations are some 250 KiB.

/// Of stores, by their numbers.
struct StoreNotes {
  std::map<std::uint32_t, std::string> failed{};  ///< why one could not be opened or closed
  std::map<std::uint32_t, std::int64_t> until{};  ///< see Ledger::stored_until()
};

class Ledger {
 public:
  /// Of a write whose variable the XML does not have.
  static constexpr std::uint32_t kUnknownName = UINT32_MAX;
  /// Of writes of which only the number is known.
  static constexpr std::uint32_t kUntold = UINT32_MAX - 1;

  explicit Ledger(LedgerNames names) : table_(std::move(names)) {}

  // What happens, as it happens

  /// This server has these ranks: what is said of all of them is said of these.
  void serves(const Ranks& ranks) { table_.rank_sets().set_everybody(ranks); }

  /// All clients have ended the iteration and its blocks go to the pipeline; settled() follows.
  /// Once more when some of them turned out to be lost: only those that are left.
  void handed_over(const Iteration& iteration);
  /// What the stores did with it.
  void settled(const PipelineResult& result);
  /// Writes that failed at the client, or whose event made no sense.
  void write_failed(std::int32_t rank, std::uint32_t variable, std::int64_t iteration,
                    const std::string& why, std::uint64_t bytes = 0, std::uint64_t writes = 1);
  /// As the XML allows, so it is no loss. How much that was is known when handed_over() came
  /// before; no settled() follows then.
  void iteration_dropped(std::int64_t iteration, const std::string& why);
  /// Nothing is lost by them.
  Incidents& incidents() noexcept { return incidents_; }
  const Incidents& incidents() const noexcept { return incidents_; }

  // A server that takes over from a killed one

  /// From now on each loss, drop and incident is passed on as one line, which a successor's
  /// restore() understands.
  void persist_with(const Persist& persist);
  /// False: the line makes no sense (the last one of a killed server may be cut) and is left out.
  bool restore(const std::string& line);
  /// The store has all iterations up to this one that it wanted and that no loss was restored of.
  void stored_until(const std::string& store, std::int64_t iteration);
  /// The server died while the store still worked on what the others had had, and the next one has
  /// not.
  void died_aside(const std::string& store, std::int64_t iteration);

  /// From now on all that is handed over was found by a server that drains.
  void begin_drain() { open_.begin_drain(); }
  const std::optional<DrainCount>& drained() const noexcept { return open_.drained(); }

  // What is to be said of it

  /// Writes that failed count once, those that a store does not have once for each such store.
  std::uint64_t lost_writes() const noexcept { return table_.lost_writes() + failed_.writes(); }
  bool anything_lost() const noexcept { return lost_writes() > 0 || !stores_.failed.empty(); }
  bool anything_missing() const noexcept {
    return anything_lost() || table_.dropped_iterations() > 0;
  }
  /// Something was lost or dropped, a rank died, a script failed, a store or script left something
  /// out, or there is a warning.
  bool has_problems() const noexcept {
    return anything_missing() || table_.anything_skipped() || incidents_.any();
  }
  /// Of this variable, and it is not settled yet.
  bool has_failed(std::uint32_t variable, std::int64_t iteration) const {
    return failed_.has(variable, iteration);
  }
  /// How many of them are stored, left out or failed.
  const IterationCounts& iterations() const noexcept { return iterations_; }
  std::size_t in_progress() const noexcept { return open_.size(); }
  /// Grows with each change.
  std::uint64_t version() const noexcept { return version_ + incidents_.version(); }

  // The rows, for those that write them down

  /// Writes that failed wait for the end of their iteration, so that one row says it of all ranks.
  void settle_failures() { failed_.settle(INT64_MAX, &table_); }
  const LedgerTable& table() const noexcept { return table_; }
  const StoreNotes& stores() const noexcept { return stores_; }

 private:
  void settle_iteration(const PipelineResult& result);

  LedgerTable table_;
  OpenIterations open_;
  FailedWrites failed_;
  StoreNotes stores_;
  Incidents incidents_;
  LossLines lines_;
  IterationCounts iterations_;
  std::uint64_t version_ = 0;
};

}  // namespace leat::server

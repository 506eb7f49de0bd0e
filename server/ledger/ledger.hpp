// SPDX-License-Identifier: Apache-2.0
// The ledger: of each variable, rank and iteration what was written, which stores have it, and what
// was dropped or lost, and why. One thread, the event loop; a copy may go to another thread.
//
// An iteration is noted when it is passed on, and gets its fate with the pipeline's result: then
// each of its variables costs one row at most, mostly none, because its row goes on. A thousand
// variables of 128 ranks over any number of iterations are some 250 KiB.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/model.hpp"
#include "server/ledger/fates.hpp"
#include "server/ledger/rows.hpp"
#include "server/pipeline/pipeline.hpp"

namespace leat::server {

/// What the ledger speaks of; the same for the whole run.
struct LedgerNames {
  std::string simulation, session;
  std::int32_t ranks = 1, node_ranks = 1;
  std::vector<std::string> variables, stores;
  std::vector<std::vector<std::uint8_t>> takes;  ///< [store][variable]
  std::string run_id{};                          ///< no other run has it on this node
};
LedgerNames names_of(const model::Model& model, const RunFacts& facts);

/// What was found in memory when everything else of the run was dead.
struct DrainCount {
  std::uint64_t iterations = 0, blocks = 0, bytes = 0;
};

/// How one script has fared.
struct ScriptFate {
  std::uint64_t calls = 0, failed = 0, skipped = 0;
  std::string why;  ///< of the first failure

  bool is_amiss() const noexcept { return failed > 0 || skipped > 0; }
};

/// What is to be looked at though nothing is lost.
struct Warning {
  std::string what;            ///< "holes", "overlap", "time"
  std::uint32_t variable = 0;  ///< or Ledger::kUnknownName
  std::int64_t first = 0, last = 0;
  std::uint64_t iterations = 0;  ///< of first to last, those that it was said of
  std::string text;
};

/// Where the server and its segment are; nothing is amiss for what is warned of here: it costs time.
struct PlacementNote {
  std::string server, memory;
  std::vector<std::string> warnings;
};

class Ledger {
 public:
  /// Of a write whose variable the XML does not have.
  static constexpr std::uint32_t kUnknownName = UINT32_MAX;
  /// Of writes of which only the number is known.
  static constexpr std::uint32_t kUntold = UINT32_MAX - 1;
  /// So many losses are persisted; a client that makes them up does not fill the disk.
  static constexpr std::uint64_t kMostPersisted = 100'000;

  /// So many warnings are kept; of more than that the last one counts them.
  static constexpr std::size_t kMostWarnings = 10'000;

  /// So many writes that failed wait for the end of their iteration; with more, rows come earlier.
  static constexpr std::size_t kMostWaiting = 4096;

  using Persist = std::function<void(const std::string& json_line)>;

  explicit Ledger(LedgerNames names);

  // What happens, as it happens

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
  /// Nothing is lost. True: this text was not yet said of this variable (kUnknownName: of none).
  bool warn(const std::string& what, std::uint32_t variable, std::int64_t iteration,
            const std::string& text);
  /// Before it had ended `iteration`.
  void client_died(std::int32_t rank, std::int64_t iteration);
  /// By its number on this node: it was given up.
  void client_never_came(std::int32_t node_rank);
  void placed(PlacementNote note);
  /// Since this server was started; what servers before it had noted is added.
  void script_fared(const std::string& script, const ScriptFate& fate);

  // A server that takes over from a killed one

  /// From now on each loss, drop and death is passed on as one line, which a successor's restore()
  /// understands.
  void persist_with(Persist persist) { persist_ = std::move(persist); }
  /// False: the line makes no sense (the last one of a killed server may be cut) and is left out.
  bool restore(const std::string& line);
  /// The store has all iterations up to this one that it wanted and that no loss was restored of.
  void stored_until(const std::string& store, std::int64_t iteration);

  /// From now on all that is handed over was found by a server that drains.
  void begin_drain() { drained_.emplace(); }
  const std::optional<DrainCount>& drained() const noexcept { return drained_; }

  // What is to be said of it

  /// Writes that failed count once, those that a store does not have once for each such store.
  bool anything_lost() const noexcept { return lost_ > 0 || !failed_stores_.empty(); }
  const std::vector<Warning>& warnings() const noexcept { return warnings_; }
  /// Of this variable, and it is not settled yet.
  bool has_failed(std::uint32_t variable, std::int64_t iteration) const;
  bool anything_missing() const noexcept { return anything_lost() || dropped_iterations_ > 0; }
  /// Something was lost or dropped, a rank died, a script failed or left something out, or there is
  /// a warning.
  bool anything_amiss() const noexcept;
  std::uint64_t lost_writes() const noexcept { return lost_; }
  std::uint64_t dropped_writes() const noexcept { return dropped_; }
  std::uint64_t dropped_iterations() const noexcept { return dropped_iterations_; }
  /// All stores that wanted something of them have it.
  std::uint64_t stored_iterations() const noexcept { return stored_; }
  /// At least one store that wanted something of them does not have it.
  std::uint64_t failed_iterations() const noexcept { return failed_; }
  std::size_t in_progress() const noexcept { return open_.size(); }
  /// Grows with each change.
  std::uint64_t version() const noexcept { return version_; }

  // The rows, for those that write them down

  /// Writes that failed wait for the end of their iteration, so that one row says it of all ranks.
  void settle_failures();
  const LedgerNames& names() const noexcept { return *names_; }
  /// By variable; after those come some that are no variables, see subject().
  const std::vector<Rows>& rows() const noexcept { return rows_; }
  /// A variable's name; or what a row is about that is of none, in brackets.
  std::string subject(std::size_t place) const;
  bool is_variable(std::size_t place) const { return place < names_->variables.size(); }
  const RankSets& rank_sets() const noexcept { return rank_sets_; }
  const Fates& fates() const noexcept { return fates_; }
  const Reasons& reasons() const noexcept { return reasons_; }
  /// Why a store could not be opened or closed, by store.
  const std::map<std::uint32_t, std::string>& failed_stores() const noexcept {
    return failed_stores_;
  }
  const std::map<std::uint32_t, std::int64_t>& stores_until() const noexcept { return until_; }
  /// Rank and the iteration it was in.
  const std::set<std::pair<std::int32_t, std::int64_t>>& deaths() const noexcept { return deaths_; }
  /// By their numbers on this node.
  const std::set<std::int32_t>& never_came() const noexcept { return never_came_; }
  const std::map<std::string, ScriptFate>& scripts() const noexcept { return scripts_; }
  const std::optional<PlacementNote>& placement() const noexcept { return placement_; }

 private:
  struct Written {  // of one variable
    std::uint32_t variable = 0, ranks = 0;
    std::uint64_t blocks = 0, bytes = 0;
  };
  struct Failure {  // of one write
    std::int64_t iteration = 0;
    std::uint32_t place = 0, why = 0;
    std::int32_t rank = 0;
    std::uint64_t blocks = 1, bytes = 0;
    auto operator<=>(const Failure&) const = default;
  };
  enum class Extra : std::uint32_t { unknown_name, whole_iteration, products, untold };

  std::uint32_t place_of(Extra extra) const;
  std::uint32_t store_number(const std::string& name) const;
  static Row row_of(const Written& written, std::int64_t iteration, std::uint32_t fate);
  std::uint32_t fate_at(const StoreOutcome& outcome);
  std::vector<Written> take_open(std::int64_t iteration);
  void settle_iteration(const PipelineResult& result);
  void settle_at(const StoreOutcome& outcome, std::int64_t iteration,
                 const std::vector<Written>& written);
  void settle_products(const PipelineResult& result);
  void note_failed_stores(const PipelineResult& result);
  void settle_failures(std::int64_t until);
  void add(std::uint32_t place, const Row& row);
  bool restore_warning(const nlohmann::json& line);
  Fate read_fate(const nlohmann::json& line);
  bool restore_rows(const nlohmann::json& line);
  void restore_script(const nlohmann::json& line);
  void persist(const std::string& line);
  void persist_losses(const std::vector<std::pair<std::uint32_t, Row>>& rows);

  std::shared_ptr<const LedgerNames> names_;
  Persist persist_;
  std::vector<Rows> rows_;
  RankSets rank_sets_;
  Fates fates_;
  Reasons reasons_;
  std::map<std::int64_t, std::vector<Written>> open_;  // handed over, not settled
  std::vector<Failure> failures_;
  std::optional<DrainCount> drained_;
  std::map<std::uint32_t, std::string> failed_stores_;
  std::map<std::uint32_t, std::int64_t> until_;
  std::set<std::pair<std::int32_t, std::int64_t>> deaths_;
  std::set<std::int32_t> never_came_;
  std::map<std::string, ScriptFate> scripts_, scripts_before_;  // before: with servers that died
  std::vector<Warning> warnings_;
  std::optional<PlacementNote> placement_;
  std::uint64_t lost_ = 0, dropped_ = 0, dropped_iterations_ = 0, stored_ = 0, failed_ = 0;
  std::uint64_t persisted_ = 0, version_ = 0;

  // Of the call in progress; kept so that it allocates nothing
  Ranks ranks_;
  std::vector<std::pair<std::uint32_t, Row>> losses_;
};

}  // namespace leat::server

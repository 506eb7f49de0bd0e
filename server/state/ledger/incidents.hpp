// SPDX-License-Identifier: Apache-2.0
// What happened in a run besides its data, and the lines that outlive a killed server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/state/ledger/rows.hpp"

namespace leat::server {

// What outlives a killed server of what was lost or dropped: lines of JSON, which a successor
// reads.

/// Gets each line as it comes.
using Persist = std::function<void(const std::string& json_line)>;

/// What a line says: of each place from first to last.
struct LossLine {
  std::uint32_t first = 0, last = 0;
  Fate fate;
  Ranks ranks;
  Row row;  ///< without its ranks and its fate
};
/// Throws nlohmann::json::exception when it is none, or its places are not those of the table.
LossLine read_loss(const nlohmann::json& line, LedgerTable* table);

class LossLines {
 public:
  /// So many of each kind are written; a client that makes losses up does not fill the disk.
  static constexpr std::uint64_t kMost = 100'000;
  using PlacedRows = std::vector<std::pair<std::uint32_t, Row>>;

  void persist_with(Persist persist) { persist_ = std::move(persist); }
  /// Somebody gets them.
  bool are_wanted() const noexcept { return persist_ != nullptr; }
  void write(const LedgerTable& table, const PlacedRows& rows);

 private:
  Persist persist_;
  std::map<Fate::Kind, std::uint64_t> written_;
};

// What happened in a run besides its data: ranks that died or never came, scripts that failed or
// left iterations out, warnings, and where its server was placed.

/// How one script has fared.
struct ScriptFate {
  std::uint64_t calls = 0, failed = 0, skipped = 0;
  std::string why;         ///< of the first failure
  bool is_module = false;  ///< of a graph

  bool is_amiss() const noexcept { return failed > 0 || skipped > 0; }
};

/// What is to be looked at though nothing is lost.
struct Warning {
  static constexpr std::uint32_t kNoVariable = UINT32_MAX;

  /// Events happen, or iterations are dropped, without regard to other servers of the run, as this one could not
  /// reach them.
  static constexpr const char* kLostEvents = "lost-events";

  std::string what;  ///< "holes", "overlap", "time", "start", "scripts", "events", kLostEvents
  std::uint32_t variable = 0;  ///< or kNoVariable
  std::int64_t first = 0, last = 0;
  std::uint64_t iterations = 0;  ///< of first to last, those that it was said of
  std::string text;
};

/// Where the server and its segment are; what is warned of here costs time and is no problem of the data.
struct PlacementNote {
  std::string server, memory;
  std::vector<std::string> warnings;
};

class Incidents {
 public:
  /// So many warnings are kept; of more than that the last one counts them.
  static constexpr std::size_t kMostWarnings = 10'000;

  /// Before it had ended `iteration`.
  void client_died(std::int32_t rank, std::int64_t iteration);
  /// The same, when the run was drained by order of `who`.
  void client_cut_off(std::int32_t rank, std::int64_t iteration, const std::string& who);
  /// By its number on this node: it was given up.
  void client_never_came(std::int32_t node_rank);
  /// Since this server was started; what servers before it had noted is added.
  void script_fared(const std::string& script, const ScriptFate& fate);
  /// True: this text was not yet said of this variable.
  bool warn(const std::string& what, std::uint32_t variable, std::int64_t iteration,
            const std::string& text);
  void placed(PlacementNote note);

  /// From now on each of them but the placement is passed on as one line.
  void persist_with(Persist persist) { persist_ = std::move(persist); }
  /// Whether it is one of those lines.
  static bool is_line(const nlohmann::json& line);
  /// Throws nlohmann::json::exception when it makes no sense. `variables`: how many there are.
  void restore(const nlohmann::json& line, std::size_t variables);

  /// There are any, the placement apart.
  bool any() const noexcept;
  /// Grows with each.
  std::uint64_t version() const noexcept { return version_; }
  /// Rank and the iteration it was in.
  const std::set<std::pair<std::int32_t, std::int64_t>>& deaths() const noexcept { return deaths_; }
  /// By whose order ranks were cut off; "" when none was. They, and the iterations they were in.
  const std::string& drained_by() const noexcept { return drained_by_; }
  const std::set<std::pair<std::int32_t, std::int64_t>>& cut_off() const noexcept {
    return cut_off_;
  }
  /// By their numbers on this node.
  const std::set<std::int32_t>& never_came() const noexcept { return never_came_; }
  const std::map<std::string, ScriptFate>& scripts() const noexcept { return scripts_; }
  const std::vector<Warning>& warnings() const noexcept { return warnings_; }
  bool any_lost_events() const noexcept;
  const std::optional<PlacementNote>& placement() const noexcept { return placement_; }

 private:
  void persist(const nlohmann::ordered_json& line) const;

  std::set<std::pair<std::int32_t, std::int64_t>> deaths_, cut_off_;
  std::string drained_by_;
  std::set<std::int32_t> never_came_;
  std::map<std::string, ScriptFate> scripts_, scripts_before_;  // before: with servers that died
  std::vector<Warning> warnings_;
  std::optional<PlacementNote> placement_;
  Persist persist_;
  std::uint64_t version_ = 0;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The rows of the ledger, by what they are about, and what the numbers in them stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/ledger/fates.hpp"
#include "server/ledger/rows.hpp"
#include "server/session/run.hpp"

namespace leat::server {

/// What the ledger speaks of; the same for the whole run.
struct LedgerNames {
  std::string simulation, session;
  std::int32_t ranks = 1, node_ranks = 1;
  std::vector<std::string> variables, stores;
  std::vector<std::vector<std::uint8_t>> takes;  ///< [store][variable]
  std::string run_id{};                          ///< no other run has it on this node
  std::string apart{};  ///< from those of other servers of the run; "": there are none
};
LedgerNames names_of(const model::Model& model, const RunFacts& facts);

class LedgerTable {
 public:
  /// What a row may be about besides a variable.
  enum class Extra : std::uint32_t { unknown_name, whole_iteration, products, untold };

  explicit LedgerTable(LedgerNames names);

  const LedgerNames& names() const noexcept { return *names_; }
  /// By place: variables, then what is about none.
  const std::vector<Rows>& rows() const noexcept { return rows_; }
  std::uint32_t place_of(Extra extra) const noexcept {
    return static_cast<std::uint32_t>(names_->variables.size()) + static_cast<std::uint32_t>(extra);
  }
  bool is_variable(std::size_t place) const { return place < names_->variables.size(); }
  /// A variable's name; or what a row is about that is of none, in brackets.
  std::string subject(std::size_t place) const;
  /// The number of stores for one that the XML does not have.
  std::uint32_t store_number(const std::string& name) const;

  RankSets& rank_sets() noexcept { return rank_sets_; }
  const RankSets& rank_sets() const noexcept { return rank_sets_; }
  const Fates& fates() const noexcept { return fates_; }
  const Reasons& reasons() const noexcept { return reasons_; }
  std::uint32_t reason(const std::string& why) { return reasons_.number(why); }
  std::uint32_t fate(const Fate& fate) { return fates_.number(fate); }

  /// One that goes on with those before it costs no allocation.
  void add(std::uint32_t place, const Row& row);

  // Of all rows
  std::uint64_t lost_writes() const noexcept { return lost_; }
  std::uint64_t dropped_writes() const noexcept { return dropped_; }
  std::uint64_t dropped_iterations() const noexcept { return dropped_iterations_; }
  /// What the store has left out: iterations, and what was made of one.
  std::uint64_t skipped(const std::string& store) const;
  bool anything_skipped() const noexcept { return !skipped_.empty(); }

 private:
  std::shared_ptr<const LedgerNames> names_;
  std::vector<Rows> rows_;
  RankSets rank_sets_;
  Fates fates_;
  Reasons reasons_;
  std::map<std::uint32_t, std::uint64_t> skipped_;  // by store
  std::uint64_t lost_ = 0, dropped_ = 0, dropped_iterations_ = 0;
};

}  // namespace leat::server

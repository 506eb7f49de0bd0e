// SPDX-License-Identifier: Apache-2.0
// The rows of the ledger: what became of one variable, run-length, and what the numbers in them stand for.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/model.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// What became of one variable, run-length: a row says the same of many iterations.

/// Iterations first, first + step, ... last: these ranks wrote, and this became of it.
struct Row {
  std::int64_t first = 0, last = 0, step = 1;
  std::uint32_t ranks = RankSets::kNobody;  ///< a number of RankSets
  std::uint32_t fate = 0;                   ///< a number of Fates
  std::uint64_t blocks = 0, bytes = 0;      ///< of all of it
  bool exact = true;  ///< false: some of these iterations and ranks only, `blocks` still holds

  std::int64_t iterations() const { return (last - first) / step + 1; }
  bool has(std::int64_t iteration) const {
    return iteration >= first && iteration <= last && (iteration - first) % step == 0;
  }
};

/// Without ranks, and nothing became of it.
Row row_of_one(std::int64_t iteration);

class Rows {
 public:
  /// So many rows of one variable are exact whatever happens; of more, old ones become less so.
  static constexpr std::size_t kMost = 512;

  /// `one` is about one iteration, which is not negative. Amortised constant time; no allocation
  /// when it continues one of the latest rows.
  void add(const Row& one, RankSets* sets);
  /// Those continued last are last.
  const std::vector<Row>& all() const noexcept { return rows_; }
  auto begin() const noexcept { return rows_.begin(); }
  auto end() const noexcept { return rows_.end(); }

 private:
  void merge_old(RankSets* sets);

  std::vector<Row> rows_;
  std::size_t limit_ = kMost;
};

// What can become of something written, each kept once and known by a number.

/// "no room for #", of texts that differ in numbers only.
std::string without_numbers(std::string_view text);

/// Reasons that differ in numbers only ("iteration 17: no room for 20 bytes") are one; the first
/// text stands for it.
class Reasons {
 public:
  static constexpr std::uint32_t kNone = 0;
  /// All further ones are "another reason": a client that makes them up fills no memory.
  static constexpr std::size_t kMost = 1000;

  Reasons();
  std::uint32_t number(std::string_view text);
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // by text without its numbers
  std::vector<std::string> texts_;
};

/// One of the things that can be said of a write; it is `written`, and `stored`, `failed` or
/// `skipped` for each store that wants it.
struct Fate {
  enum class Kind : std::uint32_t {
    written,     ///< it came
    stored,      ///< the store has it
    failed,      ///< the store wants it and does not have it
    skipped,     ///< the store has left it out, as the XML allows
    dropped,     ///< as the XML allows
    not_written  ///< it never came from the rank
  };
  Kind kind = Kind::written;
  std::uint32_t store = 0;  ///< of stored, failed and skipped
  std::uint32_t why = Reasons::kNone;
  auto operator<=>(const Fate&) const = default;

  bool has_store() const noexcept {
    return kind == Kind::stored || kind == Kind::failed || kind == Kind::skipped;
  }
  bool is_loss() const noexcept { return kind == Kind::failed || kind == Kind::not_written; }
};
const char* name_of(Fate::Kind kind) noexcept;

class Fates {
 public:
  /// A known one costs no allocation.
  std::uint32_t number(const Fate& fate);
  const Fate& operator[](std::uint32_t number) const { return fates_[number]; }

 private:
  std::map<Fate, std::uint32_t> numbers_;
  std::vector<Fate> fates_;
};

// The rows of the ledger, by what they are about, and what the numbers in them stand for.

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

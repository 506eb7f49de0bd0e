// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/rows.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "server/state/journal/names.hpp"

namespace leat::server {
namespace {

// Rows that are continued in turns (of several stores, of those that store every tenth iteration)
// are all among so many at the end.
constexpr std::size_t kDepth = 32;
constexpr std::size_t kRecent = 64;

bool continues(Row* row, std::int64_t iteration) {
  if (row->has(iteration)) return true;
  if (iteration < row->last) return false;
  const std::int64_t step = iteration - row->last;
  if (row->first != row->last && step != row->step) return false;
  row->step = step;
  row->last = iteration;
  return true;
}

void merge(Row* into, const Row& other, RankSets* sets) {
  into->first = std::min(into->first, other.first);
  into->last = std::max(into->last, other.last);
  into->step = 1;
  into->ranks = sets->united(into->ranks, other.ranks);
  into->blocks += other.blocks;
  into->bytes += other.bytes;
  into->exact = false;
}

}  // namespace

Row row_of_one(std::int64_t iteration) {
  Row row;
  row.first = row.last = std::max<std::int64_t>(iteration, 0);
  return row;
}

void Rows::add(const Row& one, RankSets* sets) {
  const std::size_t depth = std::min(rows_.size(), kDepth);
  for (std::size_t i = 1; i <= depth; ++i) {
    Row& row = rows_[rows_.size() - i];
    if (row.fate != one.fate || row.ranks != one.ranks || row.exact != one.exact) continue;
    if (!continues(&row, one.first)) continue;
    row.blocks += one.blocks;
    row.bytes += one.bytes;
    const auto place = rows_.end() - static_cast<std::ptrdiff_t>(i);
    std::rotate(place, place + 1, rows_.end());  // the latest is last
    return;
  }
  if (rows_.size() >= limit_) merge_old(sets);
  rows_.push_back(one);
}

// Halves what is old: each two rows of one fate become one. Different fates stay apart.
void Rows::merge_old(RankSets* sets) {
  const std::size_t old = rows_.size() - kRecent;
  std::map<std::uint32_t, std::size_t> single;  // by fate, in `kept`
  std::vector<Row> kept;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto other = i < old ? single.find(rows_[i].fate) : single.end();
    if (other != single.end()) {
      merge(&kept[other->second], rows_[i], sets);
      single.erase(other);
    } else {
      kept.push_back(rows_[i]);
      if (i < old) single[rows_[i].fate] = kept.size() - 1;
    }
  }
  rows_ = std::move(kept);
  limit_ = std::max(kMost, rows_.size() * 3 / 2);
}

namespace {

constexpr const char* kAnother = "another reason; see the server's log";

}  // namespace

std::string without_numbers(std::string_view text) {
  std::string shape;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit || shape.empty() || shape.back() != '#') shape += is_digit ? '#' : c;
  }
  return shape;
}

Reasons::Reasons() : texts_{""} {}

std::uint32_t Reasons::number(std::string_view text) {
  if (text.empty()) return kNone;
  const std::string shape = without_numbers(text);
  if (const auto known = numbers_.find(shape); known != numbers_.end()) return known->second;
  if (texts_.size() >= kMost && text != kAnother) return number(kAnother);
  texts_.emplace_back(text);
  return numbers_[shape] = static_cast<std::uint32_t>(texts_.size() - 1);
}

const char* name_of(Fate::Kind kind) noexcept {
  switch (kind) {
    case Fate::Kind::written:
      return "written";
    case Fate::Kind::stored:
      return "stored";
    case Fate::Kind::failed:
      return "failed";
    case Fate::Kind::skipped:
      return "skipped";
    case Fate::Kind::dropped:
      return "dropped";
    case Fate::Kind::not_written:
      return "not written";
  }
  return "";
}

std::uint32_t Fates::number(const Fate& fate) {
  if (const auto known = numbers_.find(fate); known != numbers_.end()) return known->second;
  fates_.push_back(fate);
  return numbers_[fate] = static_cast<std::uint32_t>(fates_.size() - 1);
}

namespace {

constexpr const char* kExtras[] = {"(unknown name)", "(whole iteration)", "(products)",
                                   "(not known which)"};

}  // namespace

LedgerNames names_of(const model::Model& model, const RunFacts& facts) {
  LedgerNames names{model.name, facts.session, facts.ranks, facts.node_ranks, {}, {},
                    {},         facts.run_id};
  if (!facts.has_all_ranks()) names.apart = "-" + own_node_name(facts);
  for (const model::Store& store : model.stores) names.stores.push_back(store.name);
  names.takes.resize(model.stores.size());
  for (const model::Variable& variable : model.variables) {
    names.variables.push_back(variable.name);
    for (auto& takes : names.takes) takes.push_back(0);
    for (const std::uint32_t store : variable.stores) names.takes[store].back() = 1;
  }
  return names;
}

LedgerTable::LedgerTable(LedgerNames names)
    : names_(std::make_shared<const LedgerNames>(std::move(names))),
      rows_(names_->variables.size() + std::size(kExtras)),
      rank_sets_(names_->ranks) {}

std::string LedgerTable::subject(std::size_t place) const {
  return is_variable(place) ? names_->variables[place] : kExtras[place - names_->variables.size()];
}

std::uint32_t LedgerTable::store_number(const std::string& name) const {
  const auto& stores = names_->stores;
  return static_cast<std::uint32_t>(std::find(stores.begin(), stores.end(), name) - stores.begin());
}

void LedgerTable::add(std::uint32_t place, const Row& row) {
  const Fate& fate = fates_[row.fate];
  if (fate.is_loss()) lost_ += row.blocks;
  if (fate.kind == Fate::Kind::dropped) {
    ++dropped_iterations_;
    dropped_ += row.blocks;
  }
  if (fate.kind == Fate::Kind::skipped) ++skipped_[fate.store];
  rows_[place].add(row, &rank_sets_);
}

std::uint64_t LedgerTable::skipped(const std::string& store) const {
  const auto found = skipped_.find(store_number(store));
  return found == skipped_.end() ? 0 : found->second;
}

}  // namespace leat::server

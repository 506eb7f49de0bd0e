// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/ledger.hpp"

#include <algorithm>

namespace leat::server {
namespace {

constexpr const char* kExtras[] = {"(unknown name)", "(whole iteration)", "(products)",
                                   "(not known which)"};

Row one_iteration(std::int64_t iteration) {
  Row row;
  row.first = row.last = std::max<std::int64_t>(iteration, 0);
  return row;
}

}  // namespace

Row Ledger::row_of(const Written& written, std::int64_t iteration, std::uint32_t fate) {
  Row row = one_iteration(iteration);
  row.ranks = written.ranks;
  row.fate = fate;
  row.blocks = written.blocks;
  row.bytes = written.bytes;
  return row;
}

LedgerNames names_of(const model::Model& model, const RunFacts& facts) {
  LedgerNames names{model.name, facts.session, facts.ranks, facts.node_ranks, {}, {},
                    {},         facts.run_id};
  for (const model::Store& store : model.stores) names.stores.push_back(store.name);
  names.takes.resize(model.stores.size());
  for (const model::Variable& variable : model.variables) {
    names.variables.push_back(variable.name);
    for (auto& takes : names.takes) takes.push_back(0);
    for (const std::uint32_t store : variable.stores) names.takes[store].back() = 1;
  }
  return names;
}

Ledger::Ledger(LedgerNames names)
    : names_(std::make_shared<const LedgerNames>(std::move(names))),
      rows_(names_->variables.size() + std::size(kExtras)),
      rank_sets_(names_->ranks) {}

std::string Ledger::subject(std::size_t place) const {
  return is_variable(place) ? names_->variables[place] : kExtras[place - names_->variables.size()];
}

std::uint32_t Ledger::place_of(Extra extra) const {
  return static_cast<std::uint32_t>(names_->variables.size()) + static_cast<std::uint32_t>(extra);
}

std::uint32_t Ledger::store_number(const std::string& name) const {
  const auto& stores = names_->stores;
  return static_cast<std::uint32_t>(std::find(stores.begin(), stores.end(), name) - stores.begin());
}

void Ledger::handed_over(const Iteration& iteration) {
  std::vector<Written>& written = open_[iteration.number];
  written.clear();
  const std::vector<Block>& blocks = iteration.blocks;  // by variable, then rank
  for (std::size_t i = 0; i < blocks.size();) {
    Written one{blocks[i].variable, 0, 0, 0};
    ranks_.clear();
    for (; i < blocks.size() && blocks[i].variable == one.variable; ++i) {
      append_rank(&ranks_, blocks[i].rank);
      ++one.blocks;
      one.bytes += blocks[i].bytes;
    }
    one.ranks = rank_sets_.number(ranks_);
    written.push_back(one);
    if (!drained_) continue;
    drained_->blocks += one.blocks;
    drained_->bytes += one.bytes;
  }
  if (drained_) ++drained_->iterations;
  ++version_;
}

std::vector<Ledger::Written> Ledger::take_open(std::int64_t iteration) {
  const auto found = open_.find(iteration);
  if (found == open_.end()) return {};
  std::vector<Written> written = std::move(found->second);
  open_.erase(found);
  return written;
}

void Ledger::settled(const PipelineResult& result) {
  ++version_;
  switch (result.kind) {
    case PipelineResult::Kind::iteration:
      return settle_iteration(result);
    case PipelineResult::Kind::products:
      return settle_products(result);
    case PipelineResult::Kind::opened:
    case PipelineResult::Kind::closed:
      return note_failed_stores(result);
  }
}

std::uint32_t Ledger::fate_at(const StoreOutcome& outcome) {
  const Fate::Kind kind = outcome.error.empty() ? Fate::Kind::stored : Fate::Kind::failed;
  return fates_.number({kind, store_number(outcome.store), reasons_.number(outcome.error)});
}

void Ledger::settle_iteration(const PipelineResult& result) {
  const std::vector<Written> written = take_open(result.iteration);
  const std::uint32_t came = fates_.number({});
  for (const Written& each : written) add(each.variable, row_of(each, result.iteration, came));
  for (const StoreOutcome& outcome : result.outcomes) settle_at(outcome, result.iteration, written);
  const bool all_have_it = std::all_of(result.outcomes.begin(), result.outcomes.end(),
                                       [](const StoreOutcome& o) { return o.error.empty(); });
  if (all_have_it && !result.outcomes.empty()) ++stored_;
  if (!all_have_it) ++failed_;
  settle_failures(result.iteration);
}

void Ledger::settle_at(const StoreOutcome& outcome, std::int64_t iteration,
                       const std::vector<Written>& written) {
  const std::uint32_t store = store_number(outcome.store);
  if (store == names_->stores.size()) return;
  const std::uint32_t fate = fate_at(outcome);
  losses_.clear();
  for (const Written& each : written) {
    if (!names_->takes[store][each.variable]) continue;
    const Row row = row_of(each, iteration, fate);
    add(each.variable, row);
    if (persist_ && fates_[fate].is_loss()) losses_.emplace_back(each.variable, row);
  }
  persist_losses(losses_);
}

void Ledger::settle_products(const PipelineResult& result) {
  for (const StoreOutcome& outcome : result.outcomes) {
    if (store_number(outcome.store) == names_->stores.size()) continue;
    Row row = one_iteration(result.iteration);
    row.fate = fate_at(outcome);
    row.blocks = 1;
    add(place_of(Extra::products), row);
    if (persist_ && fates_[row.fate].is_loss())
      persist_losses({{place_of(Extra::products), row}});
  }
}

void Ledger::note_failed_stores(const PipelineResult& result) {
  for (const StoreOutcome& outcome : result.outcomes) {
    const std::uint32_t store = store_number(outcome.store);
    if (!outcome.error.empty() && store < names_->stores.size())
      failed_stores_.emplace(store, outcome.error);
  }
}

void Ledger::write_failed(std::int32_t rank, std::uint32_t variable, std::int64_t iteration,
                          const std::string& why, std::uint64_t bytes, std::uint64_t writes) {
  const std::uint32_t place =
      variable < names_->variables.size()
          ? variable
          : place_of(variable == kUntold ? Extra::untold : Extra::unknown_name);
  const std::uint32_t reason = reasons_.number(why);
  failures_.push_back({std::max<std::int64_t>(iteration, 0), place, reason, rank, writes, bytes});
  lost_ += writes;
  ++version_;
  if (persist_) {
    Row row = one_iteration(iteration);
    row.ranks = rank_sets_.number({{rank, rank}});
    row.fate = fates_.number({Fate::Kind::not_written, 0, reason});
    row.blocks = writes;
    row.bytes = bytes;
    persist_losses({{place, row}});
  }
  if (failures_.size() > kMostWaiting) settle_failures();
}

void Ledger::settle_failures() { settle_failures(INT64_MAX); }

// Sorted, those of one iteration, variable and reason follow each other, rank by rank.
void Ledger::settle_failures(std::int64_t until) {
  if (failures_.empty()) return;
  std::sort(failures_.begin(), failures_.end());
  std::size_t i = 0;
  while (i < failures_.size() && failures_[i].iteration <= until) {
    const Failure& first = failures_[i];
    Row row = one_iteration(first.iteration);
    ranks_.clear();
    for (; i < failures_.size() && failures_[i].iteration == first.iteration &&
           failures_[i].place == first.place && failures_[i].why == first.why;
         ++i) {
      append_rank(&ranks_, failures_[i].rank);
      row.blocks += failures_[i].blocks;
      row.bytes += failures_[i].bytes;
    }
    row.ranks = rank_sets_.number(ranks_);
    row.fate = fates_.number({Fate::Kind::not_written, 0, first.why});
    rows_[first.place].add(row, &rank_sets_);  // counted when it came
  }
  failures_.erase(failures_.begin(), failures_.begin() + static_cast<std::ptrdiff_t>(i));
}

void Ledger::iteration_dropped(std::int64_t iteration, const std::string& why) {
  Row row = one_iteration(iteration);
  row.ranks = RankSets::kEverybody;
  row.fate = fates_.number({Fate::Kind::dropped, 0, reasons_.number(why)});
  if (open_.count(iteration)) row.ranks = RankSets::kNobody;
  for (const Written& written : take_open(iteration)) {
    row.ranks = rank_sets_.united(row.ranks, written.ranks);
    row.blocks += written.blocks;
    row.bytes += written.bytes;
  }
  ++version_;
  add(place_of(Extra::whole_iteration), row);
  if (persist_) persist_losses({{place_of(Extra::whole_iteration), row}});
}

bool Ledger::has_failed(std::uint32_t variable, std::int64_t iteration) const {
  return std::any_of(failures_.begin(), failures_.end(), [&](const Failure& failure) {
    return failure.place == variable && failure.iteration == iteration;
  });
}

void Ledger::add(std::uint32_t place, const Row& row) {
  const Fate& fate = fates_[row.fate];
  if (fate.is_loss()) lost_ += row.blocks;
  if (fate.kind == Fate::Kind::dropped) {
    ++dropped_iterations_;
    dropped_ += row.blocks;
  }
  rows_[place].add(row, &rank_sets_);
}

bool Ledger::anything_amiss() const noexcept {
  return anything_missing() || !deaths_.empty() || !never_came_.empty() || !warnings_.empty() ||
         std::any_of(scripts_.begin(), scripts_.end(),
                     [](const auto& each) { return each.second.is_amiss(); });
}

void Ledger::stored_until(const std::string& store, std::int64_t iteration) {
  const std::uint32_t number = store_number(store);
  if (number == names_->stores.size()) return;
  std::int64_t& until = until_.emplace(number, iteration).first->second;
  until = std::max(until, iteration);
  ++version_;
}

}  // namespace leat::server

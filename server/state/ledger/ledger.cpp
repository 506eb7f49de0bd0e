// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/ledger.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace leat::server {

void FailedWrites::add(const One& one, LedgerTable* table) {
  all_.push_back(one);
  writes_ += one.blocks;
  if (all_.size() > kMost) settle(INT64_MAX, table);
}

// Sorted, those of one iteration, variable and reason follow each other, rank by rank.
void FailedWrites::settle(std::int64_t until, LedgerTable* table) {
  if (all_.empty()) return;
  std::sort(all_.begin(), all_.end());
  std::size_t i = 0;
  while (i < all_.size() && all_[i].iteration <= until) {
    const One& first = all_[i];
    Row row = row_of_one(first.iteration);
    ranks_.clear();
    for (; i < all_.size() && all_[i].iteration == first.iteration &&
           all_[i].place == first.place && all_[i].why == first.why;
         ++i) {
      append_rank(&ranks_, all_[i].rank);
      row.blocks += all_[i].blocks;
      row.bytes += all_[i].bytes;
    }
    row.ranks = table->rank_sets().number(ranks_);
    row.fate = table->fate({Fate::Kind::not_written, 0, first.why});
    table->add(first.place, row);
    writes_ -= row.blocks;
  }
  all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(i));
}

bool FailedWrites::has(std::uint32_t place, std::int64_t iteration) const {
  return std::any_of(all_.begin(), all_.end(), [&](const One& one) {
    return one.place == place && one.iteration == iteration;
  });
}

Row row_of(const Written& written, std::int64_t iteration, std::uint32_t fate) {
  Row row = row_of_one(iteration);
  row.ranks = written.ranks;
  row.fate = fate;
  row.blocks = written.blocks;
  row.bytes = written.bytes;
  return row;
}

void OpenIterations::add(const Iteration& iteration, RankSets* sets) {
  std::vector<Written>& written = open_[iteration.number];
  written.clear();
  const std::vector<Block>& blocks = iteration.blocks;  // by variable, then rank
  for (std::size_t i = 0; i < blocks.size();) {
    Written one{blocks[i].variable, 0, 0, 0};
    ranks_.clear();
    for (; i < blocks.size() && blocks[i].variable == one.place; ++i) {
      append_rank(&ranks_, blocks[i].rank);
      ++one.blocks;
      one.bytes += blocks[i].bytes;
    }
    one.ranks = sets->number(ranks_);
    written.push_back(one);
    if (!drained_) continue;
    drained_->blocks += one.blocks;
    drained_->bytes += one.bytes;
  }
  if (drained_) ++drained_->iterations;
}

std::optional<std::vector<Written>> OpenIterations::look_at(std::int64_t iteration) const {
  const auto found = open_.find(iteration);
  if (found == open_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::vector<Written>> OpenIterations::take(std::int64_t iteration) {
  const auto found = open_.find(iteration);
  if (found == open_.end()) return std::nullopt;
  std::vector<Written> written = std::move(found->second);
  open_.erase(found);
  return written;
}

bool IterationCounts::take(const PipelineResult& result) {
  Known& known = known_[result.iteration];
  if (result.kind == PipelineResult::Kind::iteration) {
    known.has_come = true;
    known.awaited += static_cast<std::int64_t>(result.at_work);
  } else {
    known.awaited -= static_cast<std::int64_t>(result.outcomes.size());
  }
  for (const StoreOutcome& outcome : result.outcomes) {
    known.has_failed |= !outcome.error.empty();
    known.was_left_out |= outcome.skipped;
    known.is_stored |= outcome.error.empty() && !outcome.skipped;
  }
  if (!known.has_come || known.awaited > 0) return false;
  count(known);
  known_.erase(result.iteration);
  return true;
}

void IterationCounts::count(const Known& known) noexcept {
  if (known.has_failed) {
    ++failed_;
  } else if (known.is_stored) {
    ++stored_;
  } else if (known.was_left_out) {
    ++skipped_;
  }
}

using Extra = LedgerTable::Extra;

namespace {

// A server may have died when it had written it down, and its successor come to it again.
void add_unless_known(LedgerTable* table, LossLines* lines, std::uint32_t place, const Row& row) {
  const Rows& rows = table->rows()[place];
  const bool is_known = std::any_of(rows.begin(), rows.end(), [&](const Row& each) {
    return each.fate == row.fate && each.exact && each.has(row.first);
  });
  if (is_known) return;
  table->add(place, row);
  lines->write(*table, {{place, row}});
}

bool is_taken(const LedgerTable& table, std::uint32_t store, std::uint32_t place) {
  return !table.is_variable(place) || table.names().takes[store][place] != 0;
}

// One row of all variables, and of one iteration: a store may leave most of a long run out.
void settle_left_out(LedgerTable* table, LossLines* lines, std::uint32_t store,
                     std::int64_t iteration, const std::vector<Written>& written) {
  Row row = row_of_one(iteration);
  row.fate = table->fate({Fate::Kind::skipped, store});
  std::uint32_t place = table->place_of(Extra::whole_iteration);
  for (const Written& each : written) {
    if (!is_taken(*table, store, each.place)) continue;
    if (!table->is_variable(each.place)) place = each.place;
    row.ranks = table->rank_sets().united(row.ranks, each.ranks);
    row.blocks += each.blocks;
    row.bytes += each.bytes;
  }
  add_unless_known(table, lines, place, row);
}

// It failed with nothing of what ranks wrote: at an event.
void settle_failure(LedgerTable* table, LossLines* lines, std::int64_t iteration,
                    std::uint32_t fate) {
  Row row = row_of_one(iteration);
  row.ranks = RankSets::kEverybody;
  row.fate = fate;
  row.blocks = 1;
  add_unless_known(table, lines, table->place_of(Extra::whole_iteration), row);
}

void settle_at(LedgerTable* table, LossLines* lines, const StoreOutcome& outcome,
               std::int64_t iteration, const std::vector<Written>& written) {
  const std::uint32_t store = table->store_number(outcome.store);
  if (store == table->names().stores.size()) return;
  if (outcome.skipped) return settle_left_out(table, lines, store, iteration, written);
  const bool is_stored = outcome.error.empty();
  const std::uint32_t fate = table->fate(
      {is_stored ? Fate::Kind::stored : Fate::Kind::failed, store, table->reason(outcome.error)});
  LossLines::PlacedRows losses;
  bool any = false;
  for (const Written& each : written) {
    if (!is_taken(*table, store, each.place)) continue;
    any = true;
    const Row row = row_of(each, iteration, fate);
    table->add(each.place, row);
    if (!is_stored && lines->are_wanted()) losses.emplace_back(each.place, row);
  }
  lines->write(*table, losses);
  if (!is_stored && !any) settle_failure(table, lines, iteration, fate);
}

}  // namespace

void Ledger::handed_over(const Iteration& iteration) {
  open_.add(iteration, &table_.rank_sets());
  ++version_;
}

void Ledger::settled(const PipelineResult& result) {
  ++version_;
  for (const StoreOutcome& outcome : result.products) {
    settle_at(&table_, &lines_, outcome, result.iteration,
              {{table_.place_of(Extra::products), RankSets::kNobody, 1, 0}});
  }
  switch (result.kind) {
    case PipelineResult::Kind::iteration:
    case PipelineResult::Kind::late:
      return settle_iteration(result);
    case PipelineResult::Kind::products:
    case PipelineResult::Kind::awaited:
      return;
    case PipelineResult::Kind::opened:
    case PipelineResult::Kind::closed:
      for (const StoreOutcome& outcome : result.outcomes) {
        const std::uint32_t store = table_.store_number(outcome.store);
        if (!outcome.error.empty() && store < table_.names().stores.size())
          stores_.failed.emplace(store, outcome.error);
      }
      return;
  }
}

// The first time, or late. It stays open until all stores are done with it.
void Ledger::settle_iteration(const PipelineResult& result) {
  const bool is_late = result.kind == PipelineResult::Kind::late;
  if (is_late && result.outcomes.empty()) return;
  const std::vector<Written> written =
      (iterations_.take(result) ? open_.take(result.iteration) : open_.look_at(result.iteration))
          .value_or(std::vector<Written>());
  const std::uint32_t came = table_.fate({});
  for (const Written& each : written) {
    if (!is_late) table_.add(each.place, row_of(each, result.iteration, came));
  }
  for (const StoreOutcome& outcome : result.outcomes)
    settle_at(&table_, &lines_, outcome, result.iteration, written);
  if (!is_late) failed_.settle(result.iteration, &table_);
}

void Ledger::died_aside(const std::string& store, std::int64_t iteration) {
  const std::uint32_t number = table_.store_number(store);
  if (number == table_.names().stores.size()) return;
  Row row = row_of_one(iteration);
  row.ranks = RankSets::kEverybody;
  row.fate = table_.fate(
      {Fate::Kind::failed, number,
       table_.reason("the server died while this store was still at work on an iteration that the "
                     "others had had")});
  row.blocks = 1;
  ++version_;
  add_unless_known(&table_, &lines_, table_.place_of(Extra::whole_iteration), row);
}

void Ledger::write_failed(std::int32_t rank, std::uint32_t variable, std::int64_t iteration,
                          const std::string& why, std::uint64_t bytes, std::uint64_t writes) {
  const Extra extra = variable == kUntold ? Extra::untold : Extra::unknown_name;
  const std::uint32_t place = table_.is_variable(variable) ? variable : table_.place_of(extra);
  const std::uint32_t reason = table_.reason(why);
  ++version_;
  if (lines_.are_wanted()) {
    Row row = row_of_one(iteration);
    row.ranks = table_.rank_sets().number({{rank, rank}});
    row.fate = table_.fate({Fate::Kind::not_written, 0, reason});
    row.blocks = writes;
    row.bytes = bytes;
    lines_.write(table_, {{place, row}});
  }
  failed_.add({std::max<std::int64_t>(iteration, 0), place, reason, rank, writes, bytes}, &table_);
}

void Ledger::iteration_dropped(std::int64_t iteration, const std::string& why) {
  const std::optional<std::vector<Written>> open = open_.take(iteration);
  Row row = row_of_one(iteration);
  row.ranks = open ? RankSets::kNobody : RankSets::kEverybody;
  row.fate = table_.fate({Fate::Kind::dropped, 0, table_.reason(why)});
  for (const Written& written : open.value_or(std::vector<Written>())) {
    row.ranks = table_.rank_sets().united(row.ranks, written.ranks);
    row.blocks += written.blocks;
    row.bytes += written.bytes;
  }
  ++version_;
  const std::uint32_t place = table_.place_of(Extra::whole_iteration);
  table_.add(place, row);
  lines_.write(table_, {{place, row}});
}

void Ledger::persist_with(const Persist& persist) {
  lines_.persist_with(persist);
  incidents_.persist_with(persist);
}

bool Ledger::restore(const std::string& text) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) return false;
  try {
    if (Incidents::is_line(line)) {
      incidents_.restore(line, table_.names().variables.size());
      return true;
    }
    LossLine loss = read_loss(line, &table_);
    Row& row = loss.row;
    ++version_;
    if (loss.fate.kind == Fate::Kind::not_written && loss.ranks.size() == 1) {
      failed_.add(
          {row.first, loss.first, loss.fate.why, loss.ranks[0].first, row.blocks, row.bytes},
          &table_);
      return true;
    }
    row.ranks = table_.rank_sets().number(loss.ranks);
    row.fate = table_.fate(loss.fate);
    for (std::uint32_t place = loss.first; place <= loss.last; ++place) table_.add(place, row);
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

void Ledger::stored_until(const std::string& store, std::int64_t iteration) {
  const std::uint32_t number = table_.store_number(store);
  if (number == table_.names().stores.size()) return;
  std::int64_t& until = stores_.until.emplace(number, iteration).first->second;
  until = std::max(until, iteration);
  ++version_;
}

}  // namespace leat::server

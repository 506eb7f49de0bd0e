// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/ledger.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace leat::server {

using Extra = LedgerTable::Extra;

void Ledger::handed_over(const Iteration& iteration) {
  open_.add(iteration, &table_.rank_sets());
  ++version_;
}

void Ledger::settled(const PipelineResult& result) {
  ++version_;
  for (const StoreOutcome& outcome : result.products) {
    settle_at(outcome, result.iteration,
              {{table_.place_of(Extra::products), RankSets::kNobody, 1, 0}});
  }
  switch (result.kind) {
    case PipelineResult::Kind::iteration:
      return settle_iteration(result);
    case PipelineResult::Kind::products:
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

void Ledger::settle_iteration(const PipelineResult& result) {
  const std::vector<Written> written =
      open_.take(result.iteration).value_or(std::vector<Written>());
  const std::uint32_t came = table_.fate({});
  for (const Written& each : written) table_.add(each.place, row_of(each, result.iteration, came));
  for (const StoreOutcome& outcome : result.outcomes) settle_at(outcome, result.iteration, written);
  const bool all_have_it = std::all_of(result.outcomes.begin(), result.outcomes.end(),
                                       [](const StoreOutcome& o) { return o.error.empty(); });
  if (all_have_it && !result.outcomes.empty()) ++stored_iterations_;
  if (!all_have_it) ++failed_iterations_;
  failed_.settle(result.iteration, &table_);
}

void Ledger::settle_at(const StoreOutcome& outcome, std::int64_t iteration,
                       const std::vector<Written>& written) {
  const std::uint32_t store = table_.store_number(outcome.store);
  if (store == table_.names().stores.size()) return;
  const bool is_stored = outcome.error.empty();
  const std::uint32_t fate = table_.fate(
      {is_stored ? Fate::Kind::stored : Fate::Kind::failed, store, table_.reason(outcome.error)});
  LossLines::PlacedRows losses;
  for (const Written& each : written) {
    const bool is_taken =
        !table_.is_variable(each.place) || table_.names().takes[store][each.place] != 0;
    if (!is_taken) continue;
    const Row row = row_of(each, iteration, fate);
    table_.add(each.place, row);
    if (!is_stored && lines_.are_wanted()) losses.emplace_back(each.place, row);
  }
  lines_.write(table_, losses);
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

// SPDX-License-Identifier: Apache-2.0
// Ledger: what outlives a killed server, one line of JSON per loss.
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "server/ledger/ledger.hpp"
#include "server/ledger/ledger_json.hpp"

namespace leat::server {
namespace {

using Json = nlohmann::json;

// Variables beside each other to which the same happened share a line.
bool share_a_line(const std::pair<std::uint32_t, Row>& a, const std::pair<std::uint32_t, Row>& b) {
  return b.first == a.first + 1 && a.second.fate == b.second.fate &&
         a.second.ranks == b.second.ranks && a.second.blocks == b.second.blocks &&
         a.second.bytes == b.second.bytes;
}

}  // namespace

void Ledger::persist(const std::string& line) {
  if (persist_ && persisted_++ < kMostPersisted) persist_(line);
}

void Ledger::persist_losses(const std::vector<std::pair<std::uint32_t, Row>>& rows) {
  for (std::size_t i = 0; i < rows.size();) {
    const std::size_t first = i++;
    while (i < rows.size() && share_a_line(rows[i - 1], rows[i])) ++i;
    nlohmann::ordered_json line = json_of(*this, rows[first].second);
    line["places"] = {rows[first].first, rows[i - 1].first};
    persist(line_of(line));
  }
}

void Ledger::client_died(std::int32_t rank, std::int64_t iteration) {
  ++version_;
  if (!deaths_.emplace(rank, iteration).second) return;
  if (persist_) persist(line_of({{"died", rank}, {"iteration", iteration}}));
}

void Ledger::placed(PlacementNote note) {
  ++version_;
  placement_ = std::move(note);
}

void Ledger::client_never_came(std::int32_t node_rank) {
  ++version_;
  if (!never_came_.insert(node_rank).second) return;
  if (persist_) persist(line_of({{"never_came", node_rank}}));
}

// Iterations that a slow script leaves out come one by one: their number is noted when it has
// doubled.
void Ledger::script_fared(const std::string& script, const ScriptFate& fate) {
  ScriptFate all = scripts_before_[script];
  all.calls += fate.calls;
  all.failed += fate.failed;
  all.skipped += fate.skipped;
  if (all.why.empty()) all.why = fate.why;
  ScriptFate& known = scripts_[script];
  const bool worth_a_line =
      all.failed != known.failed || std::bit_width(all.skipped) != std::bit_width(known.skipped);
  known = std::move(all);
  ++version_;
  if (worth_a_line && persist_) {
    persist(line_of({{"script", script},
                     {"calls", known.calls},
                     {"failed", known.failed},
                     {"skipped", known.skipped},
                     {"why", known.why}}));
  }
}

void Ledger::restore_script(const Json& line) {
  ScriptFate fate{line.at("calls"), line.at("failed"), line.at("skipped"), line.at("why")};
  scripts_before_[line.at("script")] = fate;
  scripts_[line.at("script")] = std::move(fate);
}

// A known one goes on; only what is new outlives a killed server.
bool Ledger::warn(const std::string& what, std::uint32_t variable, std::int64_t iteration,
                  const std::string& text) {
  ++version_;
  auto known = std::find_if(warnings_.rbegin(), warnings_.rend(), [&](const Warning& each) {
    return each.variable == variable && each.what == what && each.text == text;
  });
  const bool is_new = known == warnings_.rend() && warnings_.size() < kMostWarnings;
  if (is_new) {
    warnings_.push_back({what, variable, iteration, iteration, 0, text});
    known = warnings_.rbegin();
    if (persist_)
      persist(line_of(
          {{"warning", what}, {"place", variable}, {"iteration", iteration}, {"text", text}}));
  }
  if (known == warnings_.rend()) known = warnings_.rbegin();
  known->first = std::min(known->first, iteration);
  known->last = std::max(known->last, iteration);
  ++known->iterations;
  return is_new;
}

bool Ledger::restore_warning(const Json& line) {
  const std::uint32_t variable = line.at("place");
  if (variable >= names_->variables.size() && variable != kUnknownName) return false;
  const std::int64_t iteration = line.at("iteration");
  if (warnings_.size() < kMostWarnings)
    warnings_.push_back({line.at("warning"), variable, iteration, iteration, 1, line.at("text")});
  return true;
}

// Throws when it is none.
Fate Ledger::read_fate(const Json& line) {
  const std::string name = line.at("fate");
  for (const Fate::Kind kind : {Fate::Kind::failed, Fate::Kind::dropped, Fate::Kind::not_written}) {
    if (name != name_of(kind)) continue;
    Fate fate{kind, 0, reasons_.number(line.at("why").get<std::string>())};
    if (fate.has_store()) fate.store = store_number(line.at("store"));
    if (fate.store < names_->stores.size() || !fate.has_store()) return fate;
  }
  throw Json::other_error::create(501, "no fate of a loss: " + name, nullptr);
}

bool Ledger::restore_rows(const Json& line) {
  const Fate fate = read_fate(line);
  const Ranks ranks = line.at("ranks").get<Ranks>();
  Row row;
  row.first = row.last = line.at("iterations").at(0);
  row.blocks = line.at("blocks");
  row.bytes = line.at("bytes");
  const std::uint32_t first = line.at("places").at(0), last = line.at("places").at(1);
  if (row.first < 0 || first > last || last >= rows_.size()) return false;
  if (fate.kind == Fate::Kind::not_written && ranks.size() == 1) {
    failures_.push_back({row.first, first, fate.why, ranks[0].first, row.blocks, row.bytes});
    lost_ += row.blocks;
    if (failures_.size() > kMostWaiting) settle_failures();
    return true;
  }
  row.ranks = rank_sets_.number(ranks);
  row.fate = fates_.number(fate);
  for (std::uint32_t place = first; place <= last; ++place) add(place, row);
  return true;
}

bool Ledger::restore(const std::string& text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object()) return false;
  try {
    ++version_;
    if (line.contains("script")) return restore_script(line), true;
    if (line.contains("warning")) return restore_warning(line);
    if (line.contains("never_came")) {
      never_came_.insert(line.at("never_came").get<std::int32_t>());
      return true;
    }
    if (!line.contains("died")) return restore_rows(line);
    deaths_.emplace(line.at("died").get<std::int32_t>(), line.at("iteration").get<std::int64_t>());
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/incidents.hpp"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "server/state/ledger/ledger_file.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

// Variables beside each other to which the same happened share a line.
bool share_a_line(const std::pair<std::uint32_t, Row>& a, const std::pair<std::uint32_t, Row>& b) {
  return b.first == a.first + 1 && a.second.fate == b.second.fate &&
         a.second.ranks == b.second.ranks && a.second.blocks == b.second.blocks &&
         a.second.bytes == b.second.bytes;
}

[[noreturn]] void make_no_sense(const std::string& what) {
  throw json::other_error::create(501, "no line of a loss: " + what, nullptr);
}

Fate read_fate(const json& line, LedgerTable* table) {
  const std::string name = line.at("fate");
  for (const Fate::Kind kind :
       {Fate::Kind::failed, Fate::Kind::skipped, Fate::Kind::dropped, Fate::Kind::not_written}) {
    if (name != name_of(kind)) continue;
    Fate fate{kind, 0, table->reason(line.value("why", std::string()))};
    if (fate.has_store()) fate.store = table->store_number(line.at("store"));
    if (fate.store < table->names().stores.size() || !fate.has_store()) return fate;
  }
  make_no_sense(name);
}

}  // namespace

void LossLines::write(const LedgerTable& table, const PlacedRows& rows) {
  for (std::size_t i = 0; i < rows.size() && persist_;) {
    const std::size_t first = i++;
    while (i < rows.size() && share_a_line(rows[i - 1], rows[i])) ++i;
    nlohmann::ordered_json line = json_of(table, rows[first].second);
    line["places"] = {rows[first].first, rows[i - 1].first};
    const Fate::Kind kind = table.fates()[rows[first].second.fate].kind;
    if (written_[kind]++ < kMost) persist_(line_of(line));
  }
}

LossLine read_loss(const json& line, LedgerTable* table) {
  LossLine loss;
  loss.fate = read_fate(line, table);
  loss.ranks = line.at("ranks").get<Ranks>();
  loss.row.first = loss.row.last = line.at("iterations").at(0);
  loss.row.blocks = line.at("blocks");
  loss.row.bytes = line.at("bytes");
  loss.first = line.at("places").at(0);
  loss.last = line.at("places").at(1);
  if (loss.row.first < 0 || loss.first > loss.last || loss.last >= table->rows().size())
    make_no_sense("its places");
  return loss;
}

void Incidents::persist(const nlohmann::ordered_json& line) const {
  if (persist_) persist_(line_of(line));
}

void Incidents::client_died(std::int32_t rank, std::int64_t iteration) {
  ++version_;
  if (deaths_.emplace(rank, iteration).second) persist({{"died", rank}, {"iteration", iteration}});
}

void Incidents::client_cut_off(std::int32_t rank, std::int64_t iteration, const std::string& who) {
  ++version_;
  drained_by_ = who;
  if (cut_off_.emplace(rank, iteration).second)
    persist({{"cut_off", rank}, {"iteration", iteration}, {"by", who}});
}

void Incidents::client_never_came(std::int32_t node_rank) {
  ++version_;
  if (never_came_.insert(node_rank).second) persist({{"never_came", node_rank}});
}

// Iterations that a slow script leaves out come one by one: their number is noted when it has
// doubled.
void Incidents::script_fared(const std::string& script, const ScriptFate& fate) {
  ScriptFate all = scripts_before_[script];
  all.calls += fate.calls;
  all.failed += fate.failed;
  all.skipped += fate.skipped;
  if (all.why.empty()) all.why = fate.why;
  all.is_module = fate.is_module;
  ScriptFate& known = scripts_[script];
  const bool worth_a_line =
      all.failed != known.failed || std::bit_width(all.skipped) != std::bit_width(known.skipped);
  known = std::move(all);
  ++version_;
  if (!worth_a_line) return;
  persist({{"script", script},
           {"calls", known.calls},
           {"failed", known.failed},
           {"skipped", known.skipped},
           {"is_module", known.is_module},
           {"why", known.why}});
}

// A known one goes on; only what is new outlives a killed server.
bool Incidents::warn(const std::string& what, std::uint32_t variable, std::int64_t iteration,
                     const std::string& text) {
  ++version_;
  const auto found = std::find_if(warnings_.rbegin(), warnings_.rend(), [&](const Warning& each) {
    return each.variable == variable && each.what == what && each.text == text;
  });
  const bool is_new = found == warnings_.rend() && warnings_.size() < kMostWarnings;
  if (is_new) {
    warnings_.push_back({what, variable, iteration, iteration, 0, text});
    persist({{"warning", what}, {"place", variable}, {"iteration", iteration}, {"text", text}});
  }
  Warning& known = is_new || found == warnings_.rend() ? warnings_.back() : *found;
  known.first = std::min(known.first, iteration);
  known.last = std::max(known.last, iteration);
  ++known.iterations;
  return is_new;
}

void Incidents::placed(PlacementNote note) {
  ++version_;
  placement_ = std::move(note);
}

bool Incidents::is_line(const nlohmann::json& line) {
  return line.contains("script") || line.contains("warning") || line.contains("never_came") ||
         line.contains("died") || line.contains("cut_off");
}

void Incidents::restore(const nlohmann::json& line, std::size_t variables) {
  ++version_;
  if (line.contains("script")) {
    const std::string script = line.at("script");
    scripts_before_[script] = {line.at("calls"), line.at("failed"), line.at("skipped"),
                               line.at("why"), line.value("is_module", false)};
    scripts_[script] = scripts_before_[script];
  } else if (line.contains("warning")) {
    const std::uint32_t variable = line.at("place");
    const std::int64_t iteration = line.at("iteration");
    Warning warning{line.at("warning"), variable, iteration, iteration, 1, line.at("text")};
    if (variable >= variables && variable != Warning::kNoVariable)
      throw nlohmann::json::other_error::create(501, "no such variable", nullptr);
    if (warnings_.size() < kMostWarnings) warnings_.push_back(std::move(warning));
  } else if (line.contains("never_came")) {
    never_came_.insert(line.at("never_came").get<std::int32_t>());
  } else if (line.contains("cut_off")) {
    cut_off_.emplace(line.at("cut_off").get<std::int32_t>(),
                     line.at("iteration").get<std::int64_t>());
    drained_by_ = line.at("by");
  } else {
    deaths_.emplace(line.at("died").get<std::int32_t>(), line.at("iteration").get<std::int64_t>());
  }
}

bool Incidents::any_lost_events() const noexcept {
  return std::any_of(warnings_.begin(), warnings_.end(),
                     [](const Warning& each) { return each.what == Warning::kLostEvents; });
}

bool Incidents::any() const noexcept {
  return !deaths_.empty() || !cut_off_.empty() || !never_came_.empty() || !warnings_.empty() ||
         std::any_of(scripts_.begin(), scripts_.end(),
                     [](const auto& each) { return each.second.is_amiss(); });
}

}  // namespace leat::server

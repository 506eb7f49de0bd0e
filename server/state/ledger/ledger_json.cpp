// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/ledger_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lib/os/process.hpp"

namespace leat::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json json_of_stores(const Ledger& ledger) {
  Json stores = Json::array();
  for (std::uint32_t i = 0; i < ledger.table().names().stores.size(); ++i) {
    const std::string& name = ledger.table().names().stores[i];
    Json store{{"name", name}};
    if (const std::uint64_t skipped = ledger.table().skipped(name); skipped > 0)
      store["skipped"] = skipped;
    if (const auto why = ledger.stores().failed.find(i); why != ledger.stores().failed.end())
      store["failed"] = why->second;
    if (const auto until = ledger.stores().until.find(i); until != ledger.stores().until.end())
      store["stored_until"] = until->second;
    stores.push_back(std::move(store));
  }
  return stores;
}

Json json_of_scripts(const Incidents& incidents) {
  Json scripts = Json::array();
  for (const auto& [name, fate] : incidents.scripts()) {
    Json script{
        {"name", name}, {"calls", fate.calls}, {"failed", fate.failed}, {"skipped", fate.skipped}};
    if (!fate.why.empty()) script["why"] = fate.why;
    scripts.push_back(std::move(script));
  }
  return scripts;
}

Json json_of_warnings(const Ledger& ledger) {
  Json all = Json::array();
  for (const Warning& warning : ledger.incidents().warnings()) {
    Json entry{{"what", warning.what}, {"variable", nullptr}};
    if (ledger.table().is_variable(warning.variable))
      entry["variable"] = ledger.table().subject(warning.variable);
    entry["first"] = warning.first;
    entry["last"] = warning.last;
    entry["iterations"] = warning.iterations;
    entry["text"] = warning.text;
    all.push_back(std::move(entry));
  }
  return all;
}

Json json_of_placement(const Incidents& incidents) {
  if (!incidents.placement()) return nullptr;
  const PlacementNote& note = *incidents.placement();
  return {{"server", note.server}, {"memory", note.memory}, {"warnings", note.warnings}};
}

Json json_of_drain(const Ledger& ledger) {
  if (!ledger.drained()) return nullptr;
  const DrainCount& count = *ledger.drained();
  return {{"iterations", count.iterations}, {"blocks", count.blocks}, {"bytes", count.bytes}};
}

Json json_of_ranks(const std::set<std::pair<std::int32_t, std::int64_t>>& ranks) {
  Json list = Json::array();
  for (const auto& [rank, iteration] : ranks)
    list.push_back({{"rank", rank}, {"iteration", iteration}});
  return list;
}

Json json_of_order(const Incidents& incidents) {
  if (incidents.drained_by().empty()) return nullptr;
  return {{"who", incidents.drained_by()}, {"cut_off", json_of_ranks(incidents.cut_off())}};
}

std::string how_it_ended(const Incidents& incidents) {
  if (!incidents.deaths().empty()) return "died";
  return incidents.cut_off().empty() ? "finished" : "stopped";
}

std::vector<Row> rows_in_order(const LedgerTable& table, const Rows& rows) {
  std::vector<Row> sorted = rows.all();
  std::sort(sorted.begin(), sorted.end(), [&table](const Row& a, const Row& b) {
    return std::tie(a.first, table.fates()[a.fate], a.last) <
           std::tie(b.first, table.fates()[b.fate], b.last);
  });
  return sorted;
}

Json subject_of(const LedgerTable& table, std::size_t place) {
  const std::string subject = table.subject(place);
  if (table.is_variable(place)) return {{"variable", subject}};
  return {{"variable", nullptr}, {"what", subject.substr(1, subject.size() - 2)}};
}

// One entry to a line, so that people can read it too.
void append_entries(const LedgerTable& table, std::string* text) {
  bool any = false;
  for (std::size_t place = 0; place < table.rows().size(); ++place) {
    for (const Row& row : rows_in_order(table, table.rows()[place])) {
      Json entry = subject_of(table, place);
      entry.update(json_of(table, row));
      *text += (any ? ",\n    " : "\n    ") + line_of(entry);
      any = true;
    }
  }
  if (any) *text += "\n  ";
}

}  // namespace

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const LedgerTable& table, const Row& row) {
  const Fate& fate = table.fates()[row.fate];
  Json entry{{"fate", name_of(fate.kind)}};
  if (fate.has_store()) entry["store"] = table.names().stores[fate.store];
  entry["iterations"] = {row.first, row.last, row.step};
  entry["ranks"] = table.rank_sets()[row.ranks];
  entry["blocks"] = row.blocks;
  entry["bytes"] = row.bytes;
  if (fate.why != Reasons::kNone) entry["why"] = table.reasons()[fate.why];
  if (!row.exact) entry["exact"] = false;
  return entry;
}

std::string ledger_json(const Ledger& ledger, const std::string& state) {
  const LedgerNames& names = ledger.table().names();
  const std::pair<const char*, Json> head[] = {
      {"leat_ledger", kVersion},
      {"simulation", names.simulation},
      {"session", names.session},
      {"ranks", names.ranks},
      {"node_ranks", names.node_ranks},
      {"node", platform::node_name()},
      {"run_id", names.run_id},
      {"state", state == "finished" ? how_it_ended(ledger.incidents()) : state},
      {"status", ledger.has_problems() ? "LEAT_ERROR_LOST" : "LEAT_OK"},
      {"lost", ledger.lost_writes()},
      {"dropped", ledger.table().dropped_writes()},
      {"dropped_iterations", ledger.table().dropped_iterations()},
      {"in_progress", ledger.in_progress()},
      {"drained", json_of_drain(ledger)},
      {"stores", json_of_stores(ledger)},
      {"died", json_of_ranks(ledger.incidents().deaths())},
      {"drained_by", json_of_order(ledger.incidents())},
      {"never_came", ledger.incidents().never_came()},
      {"scripts", json_of_scripts(ledger.incidents())},
      {"warnings", json_of_warnings(ledger)},
      {"placement", json_of_placement(ledger.incidents())},
  };
  std::string text = "{\n";
  for (const auto& [name, value] : head)
    text += std::string("  \"") + name + "\": " + line_of(value) + ",\n";
  text += "  \"entries\": [";
  append_entries(ledger.table(), &text);
  return text + "]\n}\n";
}

}  // namespace leat::server

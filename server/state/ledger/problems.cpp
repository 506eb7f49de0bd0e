// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/problems.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "lib/base/text.hpp"
#include "server/state/ledger/loss_table.hpp"
#include "server/state/run.hpp"

namespace leat::server {
namespace {

constexpr std::size_t kMostOfAKind = 8;
constexpr std::size_t kMostWarnings = 4;
constexpr std::size_t kMostName = 60, kMostReason = 200, kMostWarning = 600;

void add_deaths(const Ledger& ledger, std::vector<std::string>* lines) {
  const bool all_stored = !ledger.table().names().stores.empty() && !ledger.anything_lost();
  std::map<std::int64_t, Ranks> by_iteration;
  for (const auto& [rank, iteration] : ledger.incidents().deaths())
    append_rank(&by_iteration[iteration], rank);
  std::size_t count = 0;
  for (const auto& [iteration, ranks] : by_iteration) {
    if (++count > kMostOfAKind) return lines->push_back("and more ranks died later");
    const bool one = ranks.size() == 1 && ranks[0].first == ranks[0].second;
    lines->push_back(fmt::format("{} {} died in iteration {}", one ? "rank" : "ranks",
                                 cut(text_of(ranks), kMostName), iteration));
    if (all_stored)
      lines->back() += fmt::format("; the data {} had written is stored", one ? "it" : "they");
  }
}

void add_order(const Incidents& incidents, std::vector<std::string>* lines) {
  if (incidents.drained_by().empty()) return;
  Ranks ranks;
  std::int64_t last = 0;
  for (const auto& [rank, iteration] : incidents.cut_off()) {
    append_rank(&ranks, rank);
    last = std::max(last, iteration);
  }
  lines->push_back(fmt::format(
      "the run was drained by order of {} while {} {} had not finalized, in iteration {} at most; "
      "what came after is not stored",
      incidents.drained_by(), incidents.cut_off().size() == 1 ? "rank" : "ranks",
      cut(text_of(ranks), kMostName), last));
}

void add_never_came(const Ledger& ledger, std::vector<std::string>* lines) {
  Ranks ranks;
  for (const std::int32_t rank : ledger.incidents().never_came()) append_rank(&ranks, rank);
  if (ranks.empty()) return;
  const bool one = ledger.incidents().never_came().size() == 1;
  const bool one_node = ledger.table().names().ranks == ledger.table().names().node_ranks;
  lines->push_back(fmt::format("{} {}{} did not connect, and the others continued without {}",
                               one ? "rank" : "ranks", cut(text_of(ranks), kMostName),
                               one_node ? "" : " of this node", one ? "it" : "them"));
}

std::string text_of_script(const std::string& name, const ScriptFate& fate, bool causes) {
  std::string text = "script \"" + cut(name, kMostName) + "\"";
  if (fate.failed > 0) {
    text += " failed " + counted(fate.failed, "time") + " in " + counted(fate.calls, "call");
    if (causes && !fate.why.empty()) text += " (" + cut(fate.why, kMostReason) + ")";
  }
  if (fate.skipped > 0)
    text += (fate.failed > 0 ? " and skipped " : " skipped ") + counted(fate.skipped, "iteration");
  return text;
}

// Of as many as there are for one reason, as when their Python lacks a package.
std::string never_called(const std::vector<std::string>& names, const ScriptFate& fate,
                         bool causes) {
  std::string text = names.size() == 1 ? "script " : "scripts ";
  for (std::size_t i = 0; i < std::min(names.size(), kMostOfAKind); ++i)
    text += (i > 0 ? ", \"" : "\"") + cut(names[i], kMostName) + "\"";
  if (names.size() > kMostOfAKind) text += fmt::format(" and {} more", names.size() - kMostOfAKind);
  text += names.size() == 1 ? " was" : " were";
  text += fate.skipped > 0 ? " called for none of " + counted(fate.skipped, "iteration")
                           : " never called";
  return causes ? text + ": " + cut(fate.why, kMostReason) : text;
}

void add_scripts(const Incidents& incidents, bool causes, std::vector<std::string>* lines) {
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::string>> never;  // by the reason
  std::size_t count = 0;
  for (const auto& [name, fate] : incidents.scripts()) {
    if (!fate.is_amiss()) continue;
    if (fate.calls == 0 && fate.failed > 0 && !fate.why.empty()) {
      never[{fate.why, fate.skipped}].push_back(name);
    } else if (++count <= kMostOfAKind) {
      lines->push_back(text_of_script(name, fate, causes));
    }
  }
  for (const auto& [reason, names] : never) {
    if (++count <= kMostOfAKind)
      lines->push_back(never_called(names, {0, 0, reason.second, reason.first}, causes));
  }
  if (count > kMostOfAKind) lines->push_back("and so did more scripts");
}

void add_stores(const LedgerTable& table, std::vector<std::string>* lines) {
  std::size_t count = 0;
  for (const std::string& store : table.names().stores) {
    const std::uint64_t skipped = table.skipped(store);
    if (skipped == 0) continue;
    if (++count > kMostOfAKind) return lines->push_back("and so did more stores");
    lines->push_back("store \"" + cut(store, kMostName) + "\" skipped " +
                     counted(skipped, "iteration"));
  }
}

void add_warnings(const Incidents& incidents, std::vector<std::string>* lines) {
  std::size_t count = 0;
  for (const Warning& each : incidents.warnings()) {
    if (++count > kMostWarnings)
      return lines->push_back(
          fmt::format("and {} more warnings", incidents.warnings().size() - kMostWarnings));
    const std::string when = each.first == each.last
                                 ? fmt::format("iteration {}", each.first)
                                 : fmt::format("iterations {}-{}", each.first, each.last);
    lines->push_back("warning, " + when + ": " + cut(each.text, kMostWarning));
  }
}

}  // namespace

std::vector<std::string> problems_of(const Ledger& ledger, bool causes) {
  std::vector<std::string> lines;
  add_never_came(ledger, &lines);
  add_deaths(ledger, &lines);
  add_order(ledger.incidents(), &lines);
  add_stores(ledger.table(), &lines);
  add_scripts(ledger.incidents(), causes, &lines);
  add_warnings(ledger.incidents(), &lines);
  return lines;
}

}  // namespace leat::server

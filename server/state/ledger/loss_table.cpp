// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/loss_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/base/table.hpp"
#include "lib/base/text.hpp"
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
  std::string text = (fate.is_module ? "module \"" : "script \"") + cut(name, kMostName) + "\"";
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
  std::string text = fate.is_module ? "module" : "script";
  text += names.size() == 1 ? " " : "s ";
  for (std::size_t i = 0; i < std::min(names.size(), kMostOfAKind); ++i)
    text += (i > 0 ? ", \"" : "\"") + cut(names[i], kMostName) + "\"";
  if (names.size() > kMostOfAKind) text += fmt::format(" and {} more", names.size() - kMostOfAKind);
  text += names.size() == 1 ? " was" : " were";
  text += fate.skipped > 0 ? " called for none of " + counted(fate.skipped, "iteration")
                           : " never called";
  return causes ? text + ": " + cut(fate.why, kMostReason) : text;
}

void add_scripts(const Incidents& incidents, bool causes, std::vector<std::string>* lines) {
  using Reason = std::tuple<std::string, std::uint64_t, bool>;
  std::map<Reason, std::vector<std::string>> never;
  std::size_t count = 0;
  for (const auto& [name, fate] : incidents.scripts()) {
    if (!fate.is_amiss()) continue;
    if (fate.calls == 0 && fate.failed > 0 && !fate.why.empty()) {
      never[{fate.why, fate.skipped, fate.is_module}].push_back(name);
    } else if (++count <= kMostOfAKind) {
      lines->push_back(text_of_script(name, fate, causes));
    }
  }
  for (const auto& [reason, names] : never) {
    const auto& [why, skipped, is_module] = reason;
    if (++count <= kMostOfAKind)
      lines->push_back(never_called(names, {0, 0, skipped, why, is_module}, causes));
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
    const bool is_of_run =
        each.what == "events" || each.what == "steering" || each.what == Warning::kLostEvents;
    lines->push_back("warning" + (is_of_run ? "" : ", " + when) + ": " +
                     cut(each.text, kMostWarning));
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

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kMostLines = 16;
constexpr std::size_t kReasonWidth = 400;
constexpr std::size_t kNameWidth = 24, kRanksWidth = 14, kIterationsWidth = 20;

// One store, or none, that lost one variable for one reason.
struct Loss {
  std::vector<Row> rows;
  std::uint64_t bytes = 0;
};
struct LossKey {
  bool dropped;
  std::uint32_t store, place, why;
  auto operator<=>(const LossKey&) const = default;
};
constexpr std::uint32_t kNoStore = UINT32_MAX;

using Losses = std::map<LossKey, Loss>;

void collect(const LedgerTable& table, std::uint32_t place, const Row& row, Losses* losses) {
  const Fate& fate = table.fates()[row.fate];
  const bool dropped = fate.kind == Fate::Kind::dropped;
  if (!dropped && !fate.is_loss()) return;
  Loss& loss = (*losses)[{dropped, fate.has_store() ? fate.store : kNoStore, place, fate.why}];
  loss.rows.push_back(row);
  loss.bytes += row.bytes;
}

Losses losses_of(const LedgerTable& table) {
  Losses losses;
  for (std::uint32_t place = 0; place < table.rows().size(); ++place) {
    for (const Row& row : table.rows()[place]) collect(table, place, row, &losses);
  }
  for (auto& [key, loss] : losses) {
    std::sort(loss.rows.begin(), loss.rows.end(),
              [](const Row& a, const Row& b) { return a.first < b.first; });
  }
  return losses;
}

std::string text_of_row(const Row& row) {
  if (row.first == row.last) return std::to_string(row.first);
  if (row.iterations() == 2 && row.exact) return fmt::format("{}, {}", row.first, row.last);
  return fmt::format("{}-{}{}", row.first, row.last,
                     !row.exact      ? " (some)"
                     : row.step == 1 ? ""
                                     : fmt::format(" by {}", row.step));
}

std::string iterations_of(const Loss& loss) {
  std::string text;
  std::int64_t first = INT64_MAX, last = 0;
  for (const Row& row : loss.rows) {
    text += (text.empty() ? "" : ", ") + text_of_row(row);
    first = std::min(first, row.first);
    last = std::max(last, row.last);
  }
  if (text.size() <= kIterationsWidth) return text;
  return fmt::format("{}-{} (some)", first, last);
}

std::string ranks_of(const LedgerTable& table, const Loss& loss) {
  Ranks all;
  for (const Row& row : loss.rows) all = united(all, table.rank_sets()[row.ranks]);
  std::string text = text_of(all);
  if (text.size() <= kRanksWidth) return text;
  return fmt::format("some of {}-{}", all.front().first, all.back().second);
}

// What differs only in its variables is one line.
struct Group {
  std::string store, ranks, iterations, why;
  auto operator<=>(const Group&) const = default;
};
struct Members {
  std::string first;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

std::string name_of(const Members& members) {
  if (members.count == 1) return cut(members.first, kNameWidth);
  const std::string more = fmt::format(" +{} more", members.count - 1);
  return cut(members.first, kNameWidth - more.size()) + more;
}

Group group_of(const LedgerTable& table, const LossKey& key, const Loss& loss) {
  return {key.store == kNoStore ? "-" : cut(table.names().stores[key.store], kNameWidth),
          ranks_of(table, loss), iterations_of(loss),
          (key.dropped ? "dropped: " : "") + cut(table.reasons()[key.why], kReasonWidth)};
}

std::vector<Cell> line_of(const Group& group, const Members& members) {
  return {{group.store},
          {name_of(members)},
          {group.ranks},
          {group.iterations},
          {members.bytes ? format_bytes(members.bytes) : "-"},
          {group.why}};
}

void add_failed_stores(const Ledger& ledger, const Losses& losses, Table* table) {
  for (const auto& [store, why] : ledger.stores().failed) {
    const bool has_lines =
        std::any_of(losses.begin(), losses.end(),
                    [number = store](const auto& l) { return l.first.store == number; });
    if (!has_lines)
      table->add({{cut(ledger.table().names().stores[store], kNameWidth)},
                  {"-"},
                  {"-"},
                  {"-"},
                  {"-"},
                  {cut(why, kReasonWidth)}});
  }
}

// The gravest first: what was lost before what was dropped, in each the order of the XML.
Table table_of(const Ledger& ledger) {
  const Losses losses = losses_of(ledger.table());
  std::vector<Group> order;
  std::map<Group, Members> groups;
  for (const auto& [key, loss] : losses) {
    const Group group = group_of(ledger.table(), key, loss);
    Members& members = groups[group];
    if (members.count++ == 0) {
      members.first = ledger.table().subject(key.place);
      order.push_back(group);
    }
    members.bytes += loss.bytes;
  }
  Table table({{"store"},
               {"variable"},
               {"ranks"},
               {"iterations"},
               {.title = "bytes", .right = true},
               {.title = "why", .wraps = true}});
  add_failed_stores(ledger, losses, &table);
  for (const Group& group : order) table.add(line_of(group, groups[group]));
  return table;
}

std::string headline(const Ledger& ledger, const std::string& file) {
  if (ledger.anything_lost()) return fmt::format("not all of the data is stored; see {}", file);
  const std::uint64_t dropped = ledger.table().dropped_iterations();
  return fmt::format("{} iteration{} dropped, as the XML allows; see {}", dropped,
                     dropped == 1 ? " was" : "s were", file);
}

}  // namespace

std::string loss_table(const Ledger& ledger, const std::string& file, std::size_t most,
                       bool causes) {
  const std::vector<std::string> wrong = problems_of(ledger, causes);
  if (!ledger.anything_missing())
    return wrong.empty() ? "" : cut(joined(wrong, "; "), most) + "; see " + file;
  const std::string problems = cut(joined(wrong, "\n"), most / 2);
  const std::vector<std::string> lines = table_of(ledger).rows({false, kWidth});
  const std::size_t room = most - std::min(most, problems.size() + 100);
  std::string text = headline(ledger, file);
  std::size_t shown = 0;
  for (; shown < lines.size() && shown <= kMostLines; ++shown) {
    if (text.size() + lines[shown].size() > room) break;
    text += "\n" + lines[shown];
  }
  if (shown < lines.size())
    text += fmt::format("\n  ... and {} more, see {}", lines.size() - shown, file);
  return problems.empty() ? text : text + "\n" + problems;
}

}  // namespace leat::server

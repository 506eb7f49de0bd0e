// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/loss_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/base/table.hpp"
#include "lib/base/text.hpp"
#include "server/state/ledger/problems.hpp"

namespace leat::server {
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

std::string loss_table(const Ledger& ledger, const std::string& file, std::size_t most) {
  const std::vector<std::string> wrong = problems_of(ledger);
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

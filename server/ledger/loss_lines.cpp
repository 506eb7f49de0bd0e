// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/loss_lines.hpp"

#include <nlohmann/json.hpp>

#include "server/ledger/ledger_json.hpp"

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

}  // namespace leat::server

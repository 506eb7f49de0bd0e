// SPDX-License-Identifier: Apache-2.0
// Ledger: what outlives a killed server, one line of JSON per loss.
#include <algorithm>
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
    if (!line.contains("died")) return restore_rows(line);
    deaths_.emplace(line.at("died").get<std::int32_t>(), line.at("iteration").get<std::int64_t>());
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace leat::server

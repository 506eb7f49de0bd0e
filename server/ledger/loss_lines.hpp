// SPDX-License-Identifier: Apache-2.0
// What outlives a killed server of what was lost or dropped: lines of JSON, which a successor
// reads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/ledger/ledger_table.hpp"

namespace leat::server {

/// Gets each line as it comes.
using Persist = std::function<void(const std::string& json_line)>;

/// What a line says: of each place from first to last.
struct LossLine {
  std::uint32_t first = 0, last = 0;
  Fate fate;
  Ranks ranks;
  Row row;  ///< without its ranks and its fate
};
/// Throws nlohmann::json::exception when it is none, or its places are not those of the table.
LossLine read_loss(const nlohmann::json& line, LedgerTable* table);

class LossLines {
 public:
  /// So many of each kind are written; a client that makes losses up does not fill the disk.
  static constexpr std::uint64_t kMost = 100'000;
  using PlacedRows = std::vector<std::pair<std::uint32_t, Row>>;

  void persist_with(Persist persist) { persist_ = std::move(persist); }
  /// Somebody gets them.
  bool are_wanted() const noexcept { return persist_ != nullptr; }
  void write(const LedgerTable& table, const PlacedRows& rows);

 private:
  Persist persist_;
  std::map<Fate::Kind, std::uint64_t> written_;
};

}  // namespace leat::server

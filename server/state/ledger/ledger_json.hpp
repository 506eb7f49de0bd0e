// SPDX-License-Identifier: Apache-2.0
// The ledger as JSON; docs/reference/ledger.md describes it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "server/state/ledger/ledger.hpp"

namespace leat::server {

/// What a row says, all but what it is about.
nlohmann::ordered_json json_of(const LedgerTable& table, const Row& row);
/// One line, also when a text is no UTF-8.
std::string line_of(const nlohmann::ordered_json& json);

/// `state` is "running", "closing" or "finished"; the last is "died" when a rank did.
std::string ledger_json(const Ledger& ledger, const std::string& state);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What a ledger says of losses; docs/reference/ledger.md describes ledgers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/command/terminal.hpp"

namespace leat::command {

using Json = nlohmann::ordered_json;

/// Its head, and of its entries those of what is missing. Null when `text` is no ledger. `source`:
/// where it stands, for people.
Json ledger_in(const std::string& text, const std::string& source);

/// That of a session from the files in a folder; null when there is none.
Json ledger_of(const std::string& folder, const std::string& simulation,
               const std::string& session);

/// That of a file which has none yet, from its folder or the working folder.
Json ledger_beside(const Json& file);

/// The lines of a section "Ledger".
std::string ledger_text(const Json& ledger, const Look& look);

}  // namespace leat::command

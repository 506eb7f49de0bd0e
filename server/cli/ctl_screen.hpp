// SPDX-License-Identifier: Apache-2.0
// `leat ctl` for people: what a server has answered, and its events. What is shown is what the JSON has.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "server/cli/terminal.hpp"

namespace leat::cli {

using Json = nlohmann::ordered_json;

/// Of "status", "describe", "ledger" or "metrics".
std::string screen_of_reply(const std::string& verb, const Json& result, const Look& look);
/// One line.
std::string line_of_event(const Json& event, const Look& look);

}  // namespace leat::cli

// SPDX-License-Identifier: Apache-2.0
// `leat ls` for people. What is shown is what the JSON has.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "server/command/terminal.hpp"

namespace leat::command {

using Json = nlohmann::ordered_json;

std::string file_screen(const Json& file, const Look& look);
std::string folder_screen(const Json& folder, const Look& look);
std::string session_screen(const Json& session, const Look& look);
/// What a session does now, without what it writes.
std::string status_screen(const Json& session, const Look& look);
std::string variables_screen(const Json& variables, const Look& look);

/// What a reader of the file has to know of its state, in a sentence; "" when that is nothing.
std::string advice_on(const Json& file);

}  // namespace leat::command

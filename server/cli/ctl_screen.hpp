// SPDX-License-Identifier: Apache-2.0
// `leat ctl` for people: what a server has answered, and its events. What is shown is what the JSON has.
#pragma once

#include <string>
#include <vector>

#include "server/cli/screen.hpp"

namespace leat::cli {

/// Of any verb; one that has no screen of its own is drawn as its JSON is.
std::string screen_of_reply(const std::string& verb, const Json& result, const Look& look);
/// Columns of a table with a row for each server of a run, as `run` tells of them.
std::vector<Field> fields_of_servers();
/// One line.
std::string line_of_event(const Json& event, const Look& look);

}  // namespace leat::cli

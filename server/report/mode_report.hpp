// SPDX-License-Identifier: Apache-2.0
// What mode="auto" has decided in a run, and why.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "server/state/iterations/mode_choice.hpp"

namespace leat::server {

/// One sentence, with the numbers.
std::string in_words(const ModeChoice::Decision& decision);
/// Nothing: it was not decided.
nlohmann::json json_of(const std::optional<ModeChoice::Decision>& decision);

}  // namespace leat::server

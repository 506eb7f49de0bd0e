// SPDX-License-Identifier: Apache-2.0
// What a worker says, decoded. A worker runs code of anybody's: whatever it says, these functions
// neither throw nor believe it; what makes no sense reads as if it had not been said.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/scripts/script.hpp"
#include "server/session/steering.hpp"
#include "server/workers/frame.hpp"
#include "server/workers/words.hpp"

namespace leat::server {

/// Of the answer to "load".
std::vector<ScriptFunction> functions_in(const nlohmann::json& head);

/// Of "set". Its type is checked against the parameter's by Steering; other than a number or a text
/// reads as a text.
Steering::Value value_in(const nlohmann::json& head);

}  // namespace leat::server

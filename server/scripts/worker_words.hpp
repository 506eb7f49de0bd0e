// SPDX-License-Identifier: Apache-2.0
// What a worker says, decoded. A worker runs code of anybody's: whatever it says, these functions
// neither throw nor believe it; what makes no sense reads as if it had not been said.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/products/publication.hpp"
#include "server/scripts/frame.hpp"
#include "server/scripts/script.hpp"
#include "server/session/steering.hpp"

namespace leat::server {

/// The text called `key`; `otherwise` when there is none or it is no text.
std::string text_in(const nlohmann::json& head, const char* key, const char* otherwise = "");

/// Of the answer to "load".
std::vector<ScriptFunction> functions_in(const nlohmann::json& head);

/// Of "set". Its type is checked against the parameter's by Steering; other than a number or a text
/// reads as a text.
Steering::Value value_in(const nlohmann::json& head);

/// Of "results": those that lie inside `data`, and are as large as their extents say.
std::vector<Product> products_in(const nlohmann::json& head, const std::string& data);

}  // namespace leat::server

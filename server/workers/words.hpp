// SPDX-License-Identifier: Apache-2.0
// What is said in frames, decoded. A worker runs code of anybody's: whatever it says, these functions
// neither throw nor believe it; what makes no sense reads as if it had not been said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/products/publication.hpp"
#include "server/workers/frame.hpp"

namespace leat::server {

/// What is called `key`; null when there is none.
const nlohmann::json& member_of(const nlohmann::json& object, const char* key);

/// Nothing for what is none, or too large.
std::optional<std::int64_t> integer_of(const nlohmann::json& value);

/// The text called `key`; `otherwise` when there is none or it is no text.
std::string text_in(const nlohmann::json& head, const char* key, const char* otherwise = "");

/// The number that the frame has under that name; 0 when there is none.
std::int64_t number_in(const Frame& frame, const char* key);

/// What "arrays" tells of: those that lie inside `data`, and are as large as their extents say.
std::vector<Product> products_in(const nlohmann::json& head, const std::string& data);

/// Tells of a product under this name, and puts its data behind the others, which begin at `start`.
void add_product(const Product& product, const std::string& name, std::size_t start,
                 nlohmann::json* told, std::string* data);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Arrays of scripts and modules in frames: how they are told of, and how that is decoded.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lib/frames/frame.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// What "arrays" tells of: those that lie inside `data`, and are as large as their extents say.
std::vector<Product> products_in(const nlohmann::json& head, std::string_view data);

/// What is told of a product under this name, whose data lie there.
nlohmann::json described(const Product& product, const std::string& name, std::size_t offset);
/// Tells of a product under this name, and puts its data behind the others, which begin at `start`.
void add_product(const Product& product, const std::string& name, std::size_t start,
                 nlohmann::json* told, std::string* data);

}  // namespace leat::server

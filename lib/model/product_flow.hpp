// SPDX-License-Identifier: Apache-2.0
// Who makes products of products: in which order they have to work, and whether two wait for each
// other.
#pragma once

#include <string>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

/// One that takes products, and says what it makes of them.
struct ProductMaker {
  std::string source;              ///< the store, or the script, that publishes
  std::vector<std::string> takes;  ///< patterns of "<source>/<product>"
  std::vector<std::string> makes;  ///< names of products; none: it makes nothing of them
};

ProductMaker maker_of(const Store& store);
/// Of all stores.
std::vector<ProductMaker> makers_of(const Model& model);

/// Words separated by white space.
std::vector<std::string> words_of(const std::string& text);

/// Whether one of the patterns stands for `name`, "<source>/<product>". A pattern has the wildcards
/// of a shell; '*' also stands for '/'.
bool is_wanted(const std::vector<std::string>& patterns, const std::string& name);

/// Why this is no name for a product, which is one in files and in patterns: "" when it is.
std::string why_no_product_name(const std::string& name);

struct ProductFlow {
  /// By maker: 0 for those that make nothing of products, else 1 more than the highest of those
  /// whose products they take. Nothing when there is a circle.
  std::vector<int> steps;
  /// "a/x -> b/y -> a/x": products that are made of each other; "" for none.
  std::string circle;
};

/// Nobody takes what it has published itself.
ProductFlow product_flow(const std::vector<ProductMaker>& makers);

/// A circle, or one that takes its own products, as an error that says what to do; "" for none.
std::string why_endless(const std::vector<ProductMaker>& makers);

}  // namespace leat::model

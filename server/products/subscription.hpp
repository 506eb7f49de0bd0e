// SPDX-License-Identifier: Apache-2.0
// Which products somebody wants: names "<source>/<product>", with the wildcards of a shell.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/model/product_flow.hpp"
#include "server/products/publication.hpp"

namespace leat::server {

class Subscription {
 public:
  /// Patterns like "*", "stats/temperature_*"; none: nothing. '*' also stands for '/'.
  explicit Subscription(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  const std::vector<std::string>& patterns() const noexcept { return patterns_; }
  /// The products of it that are wanted: pointers into `publication`.
  std::vector<const Product*> wanted_of(const Publication& publication) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Which products somebody wants: names "<source>/<product>", with the wildcards of a shell.
#pragma once

#include <string>
#include <vector>

#include "server/products/publication.hpp"

namespace leat::server {

class Subscription {
 public:
  /// Patterns separated by white space, as the XML has them: "*", "stats/temperature_* monitor/*";
  /// "" for none. '*' also stands for '/'.
  explicit Subscription(const std::string& patterns);

  bool is_empty() const noexcept { return patterns_.empty(); }
  bool wants(const std::string& source, const Product& product) const;
  /// The products of it that are wanted: pointers into `publication`.
  std::vector<const Product*> wanted_of(const Publication& publication) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace leat::server

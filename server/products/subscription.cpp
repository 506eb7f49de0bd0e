// SPDX-License-Identifier: Apache-2.0
#include "server/products/subscription.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <sstream>

namespace leat::server {

Subscription::Subscription(const std::string& patterns) {
  std::istringstream words(patterns);
  for (std::string pattern; words >> pattern;) patterns_.push_back(std::move(pattern));
}

bool Subscription::wants(const std::string& source, const Product& product) const {
  const std::string name = source + "/" + product.name;
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::vector<const Product*> Subscription::wanted_of(const Publication& publication) const {
  std::vector<const Product*> wanted;
  for (const Product& product : publication.products) {
    if (wants(publication.source, product)) wanted.push_back(&product);
  }
  return wanted;
}

}  // namespace leat::server

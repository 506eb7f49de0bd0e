// SPDX-License-Identifier: Apache-2.0
#include "server/products/subscription.hpp"

namespace leat::server {

std::vector<const Product*> Subscription::wanted_of(const Publication& publication) const {
  std::vector<const Product*> wanted;
  for (const Product& product : publication.products) {
    if (model::is_wanted(patterns_, publication.source + "/" + product.name))
      wanted.push_back(&product);
  }
  return wanted;
}

}  // namespace leat::server

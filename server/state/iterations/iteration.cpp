// SPDX-License-Identifier: Apache-2.0
#include "server/state/iterations/iteration.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "lib/base/kept_with.hpp"
#include "lib/model/checks.hpp"

namespace leat::server {

std::shared_ptr<const void> copy_data(std::vector<Product>* products) {
  std::size_t bytes = 0;
  const auto aligned = [](std::size_t size) { return (size + 63) / 64 * 64; };
  for (const Product& product : *products) bytes += aligned(product.bytes);
  auto copy = std::make_shared<std::vector<char>>(bytes);
  char* at = copy->data();
  for (Product& product : *products) {
    if (product.bytes > 0) std::memcpy(at, product.data, product.bytes);
    product.data = at;
    at += aligned(product.bytes);
  }
  return copy;
}

std::vector<const Product*> wanted_of(const Publication& publication,
                                      const std::vector<std::string>& patterns) {
  std::vector<const Product*> wanted;
  for (const Product& product : publication.products) {
    if (model::is_wanted(patterns, publication.source + "/" + product.name))
      wanted.push_back(&product);
  }
  return wanted;
}

bool is_undeclared(const Publication& publication) noexcept { return publication.of_rank; }

void replace_with(Publication* all, Publication later) {
  for (Product& product : later.products) {
    const auto old = std::find_if(all->products.begin(), all->products.end(),
                                  [&](const Product& each) { return each.name == product.name; });
    if (old == all->products.end())
      all->products.push_back(std::move(product));
    else
      *old = std::move(product);
  }
  all->memory = kept_with(std::move(all->memory), std::move(later.memory));
}

std::string add_to(std::optional<Publication>* all, Publication more) {
  if (!*all) {
    *all = std::move(more);
    return "";
  }
  for (const Product& product : more.products) {
    const bool is_there =
        std::any_of((*all)->products.begin(), (*all)->products.end(),
                    [&](const Product& each) { return each.name == product.name; });
    if (is_there) return "product \"" + product.name + "\" is there twice";
  }
  (*all)->products.insert((*all)->products.end(), more.products.begin(), more.products.end());
  (*all)->memory = kept_with(std::move((*all)->memory), std::move(more.memory));
  return "";
}

bool extents_make(const Product& product, std::uint64_t bytes) noexcept {
  std::uint64_t room = scalar_bytes(product.type);
  bool empty = false;
  for (const std::int64_t extent : product.extents) {
    if (extent < 0) return false;
    empty = empty || extent == 0;
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(1, extent));
    if (__builtin_mul_overflow(room, length, &room)) return false;
  }
  if (room > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  return bytes == (empty ? 0 : room);
}

}  // namespace leat::server

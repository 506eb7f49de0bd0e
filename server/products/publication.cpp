// SPDX-License-Identifier: Apache-2.0
#include "server/products/publication.hpp"

#include <algorithm>
#include <limits>

namespace leat::server {

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

// SPDX-License-Identifier: Apache-2.0
// Which part of a segment lies on which memory node. Ranks have no memory of their own: any rank may use what the others
// do not. So these are preferences, and huge blocks go across them.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/shm/leases.hpp"

namespace leat::server {

struct Zone {
  int node = 0;
  shm::Region small;  ///< for common regions; may be empty
  shm::Region large;  ///< for large blocks, and what does not fit into the other; may be empty

  /// Both, as far as they are there; the one for large blocks last.
  std::vector<shm::Region> ranges() const;
};

/// A zone for each memory node of `of_rank`, as large as its share of the ranks; together they are
/// `data`. Those for common regions lie together at the low end, so that one block may still take
/// nearly all of the rest.
std::vector<Zone> zones_of(shm::Region data, std::uint64_t common_region_bytes,
                           const std::vector<int>& of_rank);

}  // namespace leat::server

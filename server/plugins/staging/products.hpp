// SPDX-License-Identifier: Apache-2.0
// What plugins and scripts of a node have made, as it goes to a staging node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/include/plugin.h"

namespace leat::staging {

struct PackedProducts {
  std::uint64_t number = 0;
  std::string
      head;  ///< JSON, see server/engine/published_by_ranks.hpp; its size is a multiple of 64
  std::vector<char> data;  ///< of all of them
};

/// Where the run has several servers the source is called after the node, too: "stats@4", by its lowest rank; but for what is of the
/// whole run, which only one of them has.
PackedProducts pack(const leat_result_set& set, const leat_run& run, std::uint64_t number);

}  // namespace leat::staging

// SPDX-License-Identifier: Apache-2.0
// Which generation the checkpoints of a run are of: a greater one than all that were there when it began, and the same on all of
// its servers, also on one that takes over or comes late.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/checkpoint/index.hpp"
#include "server/include/plugin.hpp"

namespace leat::checkpoint {

/// Whose ranks the server of this plugin has.
Ranks own_ranks(const leat_run& run);
/// How its parts are called.
std::string part_of(const leat_run& run);

struct Generation {
  std::int64_t number = 1;
  bool is_known = false;  ///< the run has published something already
};

/// `folders`: in which the run's checkpoints are looked for.
Generation generation_of(const leat_run& run, const std::vector<std::string>& folders);

}  // namespace leat::checkpoint

// SPDX-License-Identifier: Apache-2.0
// The parameters of the last iteration, beside the sums: a server that takes over when nothing comes any more tells the end of the run with
// them. Texts are not kept.
#pragma once

#include <cstdint>
#include <vector>

#include "server/derive/sums.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// Keeps those of this iteration in the place of those of the one before the last. Where there is no room they are not kept.
void keep_parameters(const Iteration& iteration, Sums* sums);
/// Those of the iteration of this number; none where another one was the last.
std::vector<ParameterValue> kept_parameters(std::int64_t iteration, Sums* sums);

}  // namespace leat::server

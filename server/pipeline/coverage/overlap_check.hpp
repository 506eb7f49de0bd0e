// SPDX-License-Identifier: Apache-2.0
// Whether blocks that lie on each other in a global array have the same values there. Reads the
// data: for whom LEAT_CHECK_OVERLAPS=1 asks for it, on the pipeline's thread.
#pragma once

#include <vector>

#include "lib/model/model.hpp"
#include "server/pipeline/coverage/finding.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

/// One finding for each variable with such blocks, about the first two of them.
std::vector<Finding> differing_overlaps(const model::Model& model, const Iteration& iteration);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What a worker is told of an iteration.
#pragma once

#include <vector>

#include "lib/model/model.hpp"
#include "server/scripts/script.hpp"

namespace leat::server {

struct Frame;

/// The frame that makes a worker run a script. Its data are one record for each block: first those
/// of the iteration, whose offsets count from `segment_start`, then the constants, whose offsets
/// are in the constants file; behind them, from data_of_products on, the data of products, whose
/// offsets count from there. A record is fields of 8 bytes: variable, rank, block, has_position,
/// level (-1: none), in constants (0 or 1), offset, bytes, extent[8], position[8], global[8].
Frame run_order(const std::string& script, const ScriptJob& job,
                const std::vector<Block>& constants, const char* segment_start,
                const model::Model& model);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What of a node's ledger its staging node has to know: the stores there have no more than was sent.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/include/plugin.h"

namespace leat::staging {

/// Iterations that were left out, as the XML allows.
std::vector<std::int64_t> dropped_in(const std::string& ledger);
/// Writes that never reached a staging node: {rank, variable, iteration, writes, bytes, why} of each. `with_dropped`: what this
/// node alone has left out, as the XML allows, too.
nlohmann::json losses_of(const std::string& ledger, const leat_run& run, bool with_dropped);

}  // namespace leat::staging

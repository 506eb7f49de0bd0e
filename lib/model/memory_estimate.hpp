// SPDX-License-Identifier: Apache-2.0
// How much of the segment one iteration takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

struct VariableEstimate {
  std::uint32_t variable = 0;
  bool taken = true;  ///< by a store or scripts; what none takes is not copied and counts nothing
  /// Unknown when varying or a parameter has no value.
  std::optional<std::uint64_t> bytes_per_rank;
  std::string why_unknown;
  bool impossible = false;  ///< unknown because it is wrong: negative, divided by zero, too large
};

struct MemoryEstimate {
  std::vector<VariableEstimate> variables;
  std::uint64_t known_bytes_per_rank = 0;
  /// Per iteration: of each variable as many blocks per rank as its layout says.
  std::uint64_t known_bytes_per_node = 0;
  std::uint64_t buffer_bytes = 0;
};

/// `overrides` are parameter values that the simulation will set ("nx=256"), by parameter index.
MemoryEstimate estimate_memory(const Model& model, std::int64_t ranks_per_node,
                               const std::vector<std::optional<std::int64_t>>& overrides = {});

}  // namespace leat::model

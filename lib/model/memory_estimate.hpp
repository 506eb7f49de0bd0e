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
  /// Of data. Unknown when varying or a parameter has no value.
  std::optional<std::uint64_t> bytes_per_rank;
  std::uint64_t segment_bytes_per_rank = 0;  ///< what these take in the segment, as far as known
  std::string why_unknown;
  bool impossible = false;  ///< unknown because it is wrong: negative, divided by zero, too large
};

struct MemoryEstimate {
  std::vector<VariableEstimate> variables;
  std::uint64_t known_bytes_per_rank = 0;  ///< of the segment, as in all that follows
  /// Per iteration: of each variable as many blocks per rank as its layout says.
  std::uint64_t known_bytes_per_node = 0;
  std::uint64_t buffer_bytes = 0;
};

/// What a block of so many bytes takes in the segment; 0 when that does not fit into 64 bits.
using BytesInSegment = std::uint64_t(std::uint64_t data_bytes);

/// `overrides` are parameter values that the simulation will set ("nx=256"), by parameter index.
MemoryEstimate estimate_memory(const Model& model, std::int64_t ranks_per_node,
                               BytesInSegment* in_segment,
                               const std::vector<std::optional<std::int64_t>>& overrides = {});

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// reduce="mean(y, x)" of a <variable>: along which dimensions values become one, and how.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::model {

enum class SpaceOperation { mean, minimum, maximum, sum };

/// Over all of the run: what all ranks have.
struct SpaceReduction {
  SpaceOperation operation = SpaceOperation::mean;
  /// Along these dimensions, which are not there any more; none: along all, and one value is left.
  std::vector<std::string> along;
};

/// "OPERATION", or "OPERATION(NAME, NAME)" with names of dimensions. The error says what is wrong, and what is possible.
Result<SpaceReduction> parse_space_reduction(const std::string& text);

}  // namespace leat::model

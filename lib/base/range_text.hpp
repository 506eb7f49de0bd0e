// SPDX-License-Identifier: Apache-2.0
// Lists of numbers as people write them.
#pragma once

#include <string>
#include <vector>

namespace leat {

/// "0-3,7" of numbers in ascending order.
std::string range_text(const std::vector<int>& numbers);

}  // namespace leat

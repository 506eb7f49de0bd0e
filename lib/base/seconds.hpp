// SPDX-License-Identifier: Apache-2.0
// Times in words, for messages and screens.
#pragma once

#include <string>

namespace leat {

/// "0.25 ns", "3.50 us", "41.2 ms", "12.1 s", "6 min 3 s", "2 h 5 min": three digits.
std::string format_seconds(double seconds);

}  // namespace leat

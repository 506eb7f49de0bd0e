// SPDX-License-Identifier: Apache-2.0
// Times in words, for messages and screens.
#pragma once

#include <string>

namespace leat {

/// "41.2 ms", "3.5 us", "12.1 s", "6 min 3 s", "2 h 5 min": three digits.
std::string format_seconds(double seconds);

}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
// In nanoseconds.
#pragma once

#include <cstdint>

namespace leat::os {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kMillisecond = 1'000'000;

}  // namespace leat::os

// SPDX-License-Identifier: Apache-2.0
// Of memory, in bytes.
#pragma once

#include <cstdint>

namespace leat::server {

inline constexpr std::uint64_t kUnit = 64 * 1024, kMiB = 1 << 20;

}  // namespace leat::server

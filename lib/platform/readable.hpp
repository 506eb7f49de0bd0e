// SPDX-License-Identifier: Apache-2.0
// To wait for a descriptor, with a deadline.
#pragma once

#include <cstdint>

namespace leat::platform {

/// Sleeps until a descriptor has something to read, or `ns` have passed. True: it has.
bool is_readable_within(int descriptor, std::int64_t ns) noexcept;

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
// Pages of this process that it must not write.
#pragma once

#include <cstddef>

namespace leat::platform {

/// From now on a write to a page that lies wholly in the range ends this process (SIGSEGV). False, with
/// errno, when the system cannot do it.
bool make_read_only(char* begin, char* end) noexcept;

}  // namespace leat::platform

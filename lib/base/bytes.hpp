// SPDX-License-Identifier: Apache-2.0
// Sizes in words, for messages and screens.
#pragma once

#include <cstdint>
#include <string>

namespace leat {

/// "320 B", "1.5 GiB", "64 MiB": in powers of 1024, with a decimal where it says something.
std::string format_bytes(std::uint64_t bytes);

}  // namespace leat

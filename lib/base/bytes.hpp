// SPDX-License-Identifier: Apache-2.0
// Sizes: rounded, and in words for messages and screens.
#pragma once

#include <cstdint>
#include <string>

namespace leat {

/// "320 B", "1.5 GiB", "64 MiB": in powers of 1024, with a decimal where it says something.
std::string format_bytes(std::uint64_t bytes);

/// The next multiple of `unit` that `bytes` fit into.
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
#include "lib/base/bytes.hpp"

#include <cstdio>
#include <iterator>

namespace leat {

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr double kRoundsUp = 1023.95;  // would be shown as 1024.0 of this unit
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= kRoundsUp && unit + 1 < std::size(kNames); ++unit) value /= 1024;
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  char text[32];
  std::snprintf(text, sizeof text, whole || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                kNames[unit]);
  return text;
}

}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
// Small helpers for sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// "a, b" of a and b.
inline std::string joined(const std::vector<std::string>& items, const char* between) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : between) + item;
  return text;
}

/// "1 rank", "2 ranks".
inline std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace leat::hdf5 {

/// 1 to 9 for "deflate:1" to "deflate:9", 0 for "none" and "". Throws for anything else.
inline int deflate_level(const std::string& text) {
  if (text.empty() || text == "none") return 0;
  const std::string prefix = "deflate:";
  const bool good = text.size() == prefix.size() + 1 &&
                    text.compare(0, prefix.size(), prefix) == 0 && text.back() >= '1' &&
                    text.back() <= '9';
  if (good) return text.back() - '0';
  throw std::runtime_error("compression=\"" + text +
                           "\": expected \"none\", or \"deflate:1\" to \"deflate:9\"");
}

}  // namespace leat::hdf5

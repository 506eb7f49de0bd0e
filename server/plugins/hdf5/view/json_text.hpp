// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

namespace leat::hdf5 {

/// As a text of JSON.
inline std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char code[8];
    if (c == '"' || c == '\\') {
      quoted += std::string("\\") + c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(code, sizeof code, "\\u%04x", c);
      quoted += code;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace leat::hdf5

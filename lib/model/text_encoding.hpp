// SPDX-License-Identifier: Apache-2.0
// Where a file stops being text: Xerces-C only says that it does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leat::model {

struct BadByte {
  std::string problem;  ///< says what to do
  int line = 0;
  int column = 0;  ///< in characters
};

/// The first zero byte, or the first one that is no UTF-8 unless the XML declaration names another
/// encoding. Nothing for text of UTF-16, which begins with its byte order mark.
std::optional<BadByte> first_bad_byte(std::string_view text);

}  // namespace leat::model

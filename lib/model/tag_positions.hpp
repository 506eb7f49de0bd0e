// SPDX-License-Identifier: Apache-2.0
// Where the start tags and attributes of a text stand. Xerces-C knows only the end of a start tag,
// which may be lines below the attribute that a message is about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leat::model {

struct NamePosition {
  std::string name;
  int line = 0;
  int column = 0;  ///< in characters, not bytes
};

struct TagPosition {
  NamePosition tag;  ///< position of the '<'
  std::vector<NamePosition> attributes;
};

/// The start tags of `text` in their order. Exact for well-formed XML without a DOCTYPE in UTF-8 or
/// another encoding that contains ASCII; for anything else some list, to be trusted only where the
/// names fit.
std::vector<TagPosition> find_tags(std::string_view text);

}  // namespace leat::model

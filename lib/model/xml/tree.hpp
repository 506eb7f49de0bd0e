// SPDX-License-Identifier: Apache-2.0
// A file of XML as plain structs that know where they stand, and its text read and expanded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/model/diagnostics.hpp"
#include "lib/model/model.hpp"

namespace leat::model {

// A file of XML as plain structs that know where they stand.
struct XmlAttribute {
  std::string name;
  std::string value;
  SourceLocation where;
  bool refused = false;  ///< an error was said about it: later steps neither use it nor miss it
};

struct XmlElement {
  std::string name;
  SourceLocation where;
  std::vector<XmlAttribute> attributes;
  std::vector<XmlElement> children;
  std::string text;  ///< inside, without white space around; elements of ours have none

  const XmlAttribute* find(std::string_view attribute) const {
    for (const XmlAttribute& each : attributes) {
      if (each.name == attribute) return &each;
    }
    return nullptr;
  }
};

// ${NAME} and ${NAME:-default} in the values of attributes.

/// Expands in the whole tree. Works on values that are parsed already, so that a value can bring in
/// no markup, and expands once, so that it can bring in no other variable. A value that cannot be
/// expanded is marked as refused.
void expand_environment(XmlElement& root, DiagnosticList& out);

// Reads a whole file of XML, with words for every way in which that fails.

/// A configuration is kilobytes; what is larger was named by mistake (/dev/zero, an output file).
inline constexpr std::size_t kMaxSourceBytes = 16u << 20;

/// The bytes of `path`. The message of an error says why, without the path: "no such file".
Result<std::string> read_source(const std::string& path);

}  // namespace leat::model

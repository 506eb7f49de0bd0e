// SPDX-License-Identifier: Apache-2.0
// A tree as text, as a person would write it.
#pragma once

#include <string>
#include <vector>

#include "lib/model/xml/tree.hpp"

namespace leat::model {

/// What is said in front of the element that stands at `where`, or of the next one in the source.
struct XmlComment {
  SourceLocation where;
  std::string text;
};

/// Two blanks for each level, lines of at most 100 characters where that is possible.
std::string xml_text(const XmlElement& root, const std::vector<XmlComment>& comments);

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// A file of XML as plain structs that know where they stand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

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

}  // namespace leat::model

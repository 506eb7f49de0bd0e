// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/tree.hpp"

#include <algorithm>

namespace leat::model::damaris {
namespace {

// Attributes have one line: "a\n   b" to "a b".
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) line += c;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

const XmlAttribute* given(const XmlElement& element, std::string_view attribute) {
  const XmlAttribute* found = element.find(attribute);
  if (!found || found->refused || found->value.empty() || found->value == "#") return nullptr;
  return found;
}

std::string value_of(const XmlElement& element, std::string_view attribute) {
  const XmlAttribute* found = given(element, attribute);
  return found ? found->value : "";
}

const XmlElement* child_of(const XmlElement& element, std::string_view name) {
  for (const XmlElement& child : element.children) {
    if (child.name == name) return &child;
  }
  return nullptr;
}

XmlElement element_at(const XmlElement& from, const char* name) {
  XmlElement made;
  made.name = name;
  made.where = from.where;
  return made;
}

void put(XmlElement& to, const char* name, std::string value, const SourceLocation& where) {
  to.attributes.push_back({name, std::move(value), where, false});
}

void take(XmlElement& to, const char* to_name, const XmlElement& from, const char* name) {
  if (const XmlAttribute* found = from.find(name))
    to.attributes.push_back({to_name, found->value, found->where, found->refused});
}

void take_description(XmlElement& to, const XmlElement& from) {
  const XmlAttribute* comment = given(from, "comment");
  const std::string both = (comment ? comment->value + " " : "") + from.text;
  const std::string text = one_line(both);
  if (!text.empty()) put(to, "description", text, comment ? comment->where : from.where);
}

}  // namespace leat::model::damaris

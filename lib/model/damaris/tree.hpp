// SPDX-License-Identifier: Apache-2.0
// Reading a tree for Damaris, and making one for Leat whose elements stand where it has them.
#pragma once

#include <string>
#include <string_view>

#include "lib/model/xml_tree.hpp"

namespace leat::model::damaris {

/// The attribute unless it is not there, refused, empty or "#", which is Damaris' word for none.
const XmlAttribute* given(const XmlElement& element, std::string_view attribute);
/// Its value, or "".
std::string value_of(const XmlElement& element, std::string_view attribute);
const XmlElement* child_of(const XmlElement& element, std::string_view name);

/// An element at the place of `from`.
XmlElement element_at(const XmlElement& from, const char* name);
void put(XmlElement& to, const char* name, std::string value, const SourceLocation& where);
/// The attribute `name` of `from` as `to_name`, refused or not; nothing when there is none.
void take(XmlElement& to, const char* to_name, const XmlElement& from, const char* name);
/// comment="..." and the text inside, as the description.
void take_description(XmlElement& to, const XmlElement& from);

}  // namespace leat::model::damaris

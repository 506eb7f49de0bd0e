// SPDX-License-Identifier: Apache-2.0
// mapping.def as a table: what there is in Damaris' XML, and what becomes of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leat::model::damaris {

enum class Fate {
  taken,  ///< has its equal, or what the text says
  noted,  ///< nothing here, and no data are lost by that
  lost,   ///< something that Damaris does is not done
  part    ///< goes with its element
};

struct ElementRow {
  const char* name;
  const char* parents;  ///< separated by blanks; "" for the root
  Fate fate;
  const char* text;
};

/// Of an attribute, or of an <option> of a store: then `element` is "option" and `name` its key.
struct AttributeRow {
  const char* element;
  const char* name;
  bool required;
  const char* values;  ///< see mapping.def
  Fate fate;
  const char* same;  ///< the value that means the same as nothing
  const char* text;
};

const ElementRow* find_element(std::string_view name, std::string_view parent);
const AttributeRow* find_attribute(std::string_view element, std::string_view name);
const AttributeRow* find_option(std::string_view key);

std::vector<std::string> children_of(std::string_view parent);
std::vector<std::string> attributes_of(std::string_view element);
std::vector<std::string> required_of(std::string_view element);
std::vector<std::string> option_keys();
/// The elements in which `name` may stand, "" when there is none of this name.
std::string parents_of(std::string_view name);

/// "" when `value` is one of `row`, else the end of a message: `expected ...`.
std::string why_not_a_value(const AttributeRow& row, const std::string& value);
/// Whether `value` says nothing that Leat does not do anyway.
bool says_nothing(const AttributeRow& row, const std::string& value);
/// Of a value of kind "#yes".
bool is_yes(const std::string& value);

}  // namespace leat::model::damaris

// SPDX-License-Identifier: Apache-2.0
// mapping.def as a table: what there is in Damaris' XML, a tree held against it, and what is said of what has no equal.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/model/diagnostics.hpp"
#include "lib/model/xml/tree.hpp"

namespace leat::model::damaris {

// mapping.def as a table: what there is in Damaris' XML, and what becomes of it.
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

// What is said of a file for Damaris that has no equal: each thing once, however often it stands.
struct Remark {
  Severity severity = Severity::note;
  SourceLocation element;  ///< the element that it is about
  SourceLocation where;    ///< the element, or its attribute
  std::string message;
  std::size_t more = 0;  ///< so many others are about the same

  std::string text() const;
};

class Remarks {
 public:
  /// Says `message` unless something of this key was said; without a key that is the message.
  void say(Severity severity, const XmlElement& element, const SourceLocation& where,
           const std::string& message, const std::string& key = "");
  /// By the fate of a row of the table: nothing of what is taken.
  void say(Fate fate, const XmlElement& element, const SourceLocation& where,
           const std::string& message, const std::string& key = "");

  /// Whether something of this key was said; then this counts as said once more.
  bool again(const std::string& key);

  const std::vector<Remark>& all() const { return all_; }
  void say_to(DiagnosticList& out) const;

 private:
  std::vector<Remark> all_;
  std::unordered_map<std::string, std::size_t> by_key_;
};

// Holds a tree for Damaris against the table of mapping.def.

/// Says what Damaris does not know (elements, values and missing attributes as errors; attributes,
/// which Damaris passes over in silence, as warnings) and what has no equal. Afterwards the tree
/// has only known elements and attributes; attributes with a bad value are marked as refused.
void check_against_table(XmlElement& root, Remarks& remarks, DiagnosticList& out);

}  // namespace leat::model::damaris

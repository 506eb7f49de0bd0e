// SPDX-License-Identifier: Apache-2.0
// What the XSD allows, as a table, and a tree held against it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/diagnostics.hpp"
#include "lib/model/xml/tree.hpp"

namespace leat::model {

// The XSD as compiled in: CMake makes the definition from xml-schemas/leat.xsd.

std::string_view schema_text();

// What the XSD allows, as a table: the one source of legal names, defaults and values for reader
// and messages.
struct AttributeRule {
  std::string name;
  bool required = false;
  std::string default_value;  ///< "" also when there is none
  std::string expected;       ///< completes "expected ...", from the documentation of the type
  std::vector<std::string> choices;  ///< when the type is a list of words
  std::size_t type = 0;              ///< for Schema::accepts
};

struct ElementRule {
  std::string name;
  std::vector<AttributeRule> attributes;
  std::vector<std::string> children;  ///< names of the elements that may stand inside

  const AttributeRule* find(std::string_view attribute) const;
};

class Schema {
 public:
  /// Compiles the XSD that was built in. A fault of the XSD throws std::logic_error: a test keeps
  /// that away from users.
  Schema();
  explicit Schema(std::string_view xsd);
  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  const ElementRule* find(std::string_view element) const;
  const std::vector<ElementRule>& elements() const { return elements_; }
  /// Whether Xerces-C takes `value` for a value of the attribute's type.
  bool accepts(const AttributeRule& attribute, const std::string& value) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
  std::vector<ElementRule> elements_;
};

// Holds a tree against the schema and says what does not fit, in plain words and with the nearest
// legal name.

/// Afterwards the tree has only known elements where they may stand, and only known attributes;
/// attributes with a bad value are marked as refused.
void check_against_schema(const Schema& schema, XmlElement& root, DiagnosticList& out);

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// What the XSD allows, as a table: the one source of legal names, defaults and values for reader
// and messages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat::model {

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

}  // namespace leat::model

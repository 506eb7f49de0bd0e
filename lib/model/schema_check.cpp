// SPDX-License-Identifier: Apache-2.0
#include "lib/model/schema_check.hpp"

#include <algorithm>

#include "lib/base/suggest.hpp"

namespace leat::model {
namespace {

// Attributes with which editors find the schema; they are no business of the reader.
bool is_for_editors(const std::string& name) {
  return name == "xmlns:xsi" || name.starts_with("xsi:");
}

bool has_child(const ElementRule& rule, const std::string& name) {
  return std::find(rule.children.begin(), rule.children.end(), name) != rule.children.end();
}

// As much of a text as tells which one is meant.
std::string beginning(std::string text) {
  constexpr std::size_t kQuoted = 24;
  text = text.substr(0, text.find_first_of("\r\n"));
  return text.size() > kQuoted ? text.substr(0, text.find(' ', kQuoted / 2)) + "..." : text;
}

class SchemaCheck {
 public:
  SchemaCheck(const Schema& schema, DiagnosticList& out) : schema_(schema), out_(out) {}

  void element(XmlElement& element) {
    const ElementRule& rule = *schema_.find(element.name);
    drop_unknown_attributes(element, rule);
    for (XmlAttribute& each : element.attributes) value(each, *rule.find(each.name), rule);
    for (const AttributeRule& each : rule.attributes) presence(element, each);
    if (!element.text.empty()) {
      out_.error(element.where, "text \"" + beginning(element.text) + "\" inside <" + element.name +
                                    ">; values stand in attributes");
    }
    std::erase_if(element.children, [&](const XmlElement& c) { return is_misplaced(c, rule); });
    for (XmlElement& child : element.children) this->element(child);
  }

 private:
  void drop_unknown_attributes(XmlElement& element, const ElementRule& rule) {
    std::vector<XmlAttribute> kept;
    for (XmlAttribute& each : element.attributes) {
      if (!is_unknown(each, element, rule)) kept.push_back(each);
    }
    element.attributes = std::move(kept);
  }

  // Says so when the attribute is unknown. One that is taken for a slip of the pen stays, under the
  // right name but refused, so that no later step says that it is missing.
  bool is_unknown(XmlAttribute& attribute, const XmlElement& element, const ElementRule& rule) {
    if (is_for_editors(attribute.name)) return true;
    if (rule.find(attribute.name)) return false;
    std::vector<std::string> names;
    for (const AttributeRule& each : rule.attributes) names.push_back(each.name);
    std::string hint =
        names.empty() ? "; it has no attributes" : did_you_mean(attribute.name, names);
    if (has_child(rule, attribute.name)) {
      hint = "; <" + attribute.name + "> is an element: it stands inside of <" + rule.name + ">";
    }
    out_.error(attribute.where,
               "unknown attribute \"" + attribute.name + "\" of <" + rule.name + ">" + hint);
    const std::string meant = nearest_name(attribute.name, names);
    if (meant.empty() || element.find(meant)) return true;
    attribute.name = meant;
    attribute.refused = true;
    return false;
  }

  void value(XmlAttribute& attribute, const AttributeRule& rule, const ElementRule& element) {
    if (attribute.refused || schema_.accepts(rule, attribute.value)) return;
    attribute.refused = true;
    out_.error(attribute.where, rule.name + "=\"" + attribute.value + "\" of <" + element.name +
                                    ">: expected " + rule.expected +
                                    hint_for_value(attribute.value, rule));
  }

  // The nearest of the legal words, else all of them unless what is expected names them already.
  static std::string hint_for_value(const std::string& value, const AttributeRule& rule) {
    const std::string nearest = nearest_name(value, rule.choices);
    if (!nearest.empty()) return "; did you mean \"" + nearest + "\"?";
    std::string all;
    for (const std::string& each : rule.choices) {
      if (rule.expected.find("\"" + each + "\"") != std::string::npos && all.empty()) return "";
      all += (all.empty() ? "; there are: " : ", ") + each;
    }
    return all;
  }

  void presence(const XmlElement& element, const AttributeRule& rule) {
    if (!rule.required || element.find(rule.name)) return;
    out_.error(element.where,
               "<" + element.name + "> needs " + rule.name + "=\"...\": " + rule.expected);
  }

  bool is_misplaced(const XmlElement& child, const ElementRule& parent) {
    if (has_child(parent, child.name)) return false;
    const auto& legal = parent.children;
    const std::string inside = " inside <" + parent.name + ">";
    std::string hint =
        legal.empty() ? "; it has no elements inside" : did_you_mean(child.name, legal);
    if (parent.find(child.name)) {
      hint = "; it is an attribute: <" + parent.name + " " + child.name + "=\"...\">";
    }
    if (schema_.find(child.name)) {
      out_.error(child.where, "<" + child.name + "> cannot stand" + inside + parents(child, hint));
    } else {
      out_.error(child.where, "unknown element <" + child.name + ">" + inside + hint);
    }
    return true;
  }

  // "; it belongs into <data> or <group>", or `otherwise`.
  std::string parents(const XmlElement& child, const std::string& otherwise) {
    std::string text;
    for (const ElementRule& rule : schema_.elements()) {
      if (!has_child(rule, child.name)) continue;
      text += (text.empty() ? "; it belongs into <" : " or <") + rule.name + ">";
    }
    return text.empty() ? otherwise : text;
  }

  const Schema& schema_;
  DiagnosticList& out_;
};

}  // namespace

void check_against_schema(const Schema& schema, XmlElement& root, DiagnosticList& out) {
  SchemaCheck(schema, out).element(root);
}

}  // namespace leat::model

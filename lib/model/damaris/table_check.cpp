// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/table_check.hpp"

#include <algorithm>

#include "lib/base/suggest.hpp"

namespace leat::model::damaris {
namespace {

class TableCheck {
 public:
  TableCheck(Remarks& remarks, DiagnosticList& out) : remarks_(remarks), out_(out) {}

  void element(XmlElement& element, const ElementRow& row) {
    const std::string tag = "<" + element.name + ">";
    if (element.name == "plugins") return plugins(element, row);
    remarks_.say(row.fate, element, element.where, tag + " " + row.text);
    attributes(element);
    if (element.name == "option") option(element);
    stray_text(element);
    std::erase_if(element.children, [&](const XmlElement& c) { return is_misplaced(c, element); });
    for (XmlElement& child : element.children)
      this->element(child, *find_element(child.name, element.name));
  }

 private:
  // What is inside is for the plugin that it names, in words of that plugin. Programs that put their XML
  // together leave it empty where they have none.
  void plugins(XmlElement& element, const ElementRow& row) {
    std::string names;
    for (const XmlElement& child : element.children)
      names += (names.empty() ? "<" : ", <") + child.name + ">";
    if (!names.empty())
      remarks_.say(row.fate, element, element.where,
                   "<plugins> " + std::string(row.text) + "; inside it: " + names);
    element.children.clear();
  }

  void attributes(XmlElement& element) {
    std::vector<XmlAttribute> kept;
    for (XmlAttribute& each : element.attributes) {
      if (const AttributeRow* row = find_attribute(element.name, each.name)) {
        value(element, each, *row);
        kept.push_back(each);
      } else {
        unknown(element, each);
      }
    }
    element.attributes = std::move(kept);
    for (const std::string& name : required_of(element.name)) {
      if (element.find(name)) continue;
      out_.error(element.where, "<" + element.name + "> needs " + name + "=\"...\"");
      // There, so that no later step misses it again.
      element.attributes.push_back({name, "", element.where, true});
    }
  }

  void value(const XmlElement& element, XmlAttribute& attribute, const AttributeRow& row) {
    const std::string what =
        attribute.name + "=\"" + attribute.value + "\" of <" + element.name + ">: ";
    if (const std::string why = why_not_a_value(row, attribute.value); !why.empty()) {
      attribute.refused = true;
      return out_.error(attribute.where, what + why);
    }
    if (says_nothing(row, attribute.value)) return;
    remarks_.say(row.fate, element, attribute.where, what + row.text,
                 "<" + element.name + " " + attribute.name + ">");
  }

  void unknown(const XmlElement& element, const XmlAttribute& attribute) {
    if (attribute.name.starts_with("xmlns:") || attribute.name.starts_with("xsi:")) return;
    const std::vector<std::string> names = attributes_of(element.name);
    remarks_.say(Severity::warning, element, attribute.where,
                 "unknown attribute \"" + attribute.name + "\" of <" + element.name +
                     ">: Damaris passes over it in silence, and nothing is made of it here" +
                     (names.empty() ? "" : did_you_mean(attribute.name, names)),
                 "<" + element.name + " ?" + attribute.name + ">");
  }

  void stray_text(const XmlElement& element) {
    if (element.text.empty()) return;
    for (const char* has_text :
         {"parameter", "layout", "variable", "option", "path", "options", "script", "home"}) {
      if (element.name == has_text) return;
    }
    remarks_.say(Severity::warning, element, element.where,
                 "there is text inside <" + element.name + ">, and nothing is made of it");
  }

  void option(const XmlElement& element) {
    const XmlAttribute* key = element.find("key");
    if (!key) return out_.error(element.where, "<option> needs key=\"...\"");
    const AttributeRow* row = find_option(key->value);
    const std::string what =
        "option \"" + key->value + "\" with the value \"" + element.text + "\": ";
    if (!row) {
      remarks_.say(Severity::warning, element, key->where,
                   "option \"" + key->value + "\" is not taken over: Damaris has no such option" +
                       did_you_mean(key->value, option_keys()));
    } else if (const std::string why = why_not_a_value(*row, element.text); !why.empty()) {
      out_.error(element.where, what + why);
    } else if (!says_nothing(*row, element.text)) {
      remarks_.say(row->fate, element, element.where, what + row->text, "option " + key->value);
    }
  }

  bool is_misplaced(const XmlElement& child, const XmlElement& parent) {
    if (find_element(child.name, parent.name)) return false;
    const std::vector<std::string> legal = children_of(parent.name);
    const std::string inside = " inside <" + parent.name + ">";
    if (const std::string parents = parents_of(child.name); !parents.empty()) {
      out_.error(child.where,
                 "<" + child.name + "> cannot stand" + inside + "; it belongs into " + parents);
    } else {
      out_.error(child.where, "unknown element <" + child.name + ">" + inside +
                                  (legal.empty() ? "; it has no elements inside"
                                                 : did_you_mean(child.name, legal)));
    }
    return true;
  }

  Remarks& remarks_;
  DiagnosticList& out_;
};

}  // namespace

void check_against_table(XmlElement& root, Remarks& remarks, DiagnosticList& out) {
  TableCheck(remarks, out).element(root, *find_element("simulation", ""));
}

}  // namespace leat::model::damaris

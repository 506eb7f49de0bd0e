// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/mapping.hpp"

#include <algorithm>
#include <sstream>

#include "lib/base/text.hpp"

namespace leat::model::damaris {
namespace {

using enum Fate;

constexpr ElementRow kElements[] = {
#define LEAT_DAMARIS_ELEMENT(name, parents, fate, text) {name, parents, fate, text},
#define LEAT_DAMARIS_ATTRIBUTE(element, name, required, values, fate, same, text)
#define LEAT_DAMARIS_OPTION(key, values, fate, same, text)
#include "lib/model/damaris/mapping.def"
#undef LEAT_DAMARIS_ELEMENT
#undef LEAT_DAMARIS_ATTRIBUTE
#undef LEAT_DAMARIS_OPTION
};

constexpr AttributeRow kAttributes[] = {
#define LEAT_DAMARIS_ELEMENT(name, parents, fate, text)
#define LEAT_DAMARIS_ATTRIBUTE(element, name, required, values, fate, same, text) \
  {element, name, required, values, fate, same, text},
#define LEAT_DAMARIS_OPTION(key, values, fate, same, text)
#include "lib/model/damaris/mapping.def"
#undef LEAT_DAMARIS_ATTRIBUTE
#undef LEAT_DAMARIS_OPTION
};

constexpr AttributeRow kOptions[] = {
#define LEAT_DAMARIS_ATTRIBUTE(element, name, required, values, fate, same, text)
#define LEAT_DAMARIS_OPTION(key, values, fate, same, text) \
  {"option", key, false, values, fate, same, text},
#include "lib/model/damaris/mapping.def"
#undef LEAT_DAMARIS_ELEMENT
#undef LEAT_DAMARIS_ATTRIBUTE
#undef LEAT_DAMARIS_OPTION
};

std::vector<std::string> split(const char* text, char at) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, at);) words.push_back(word);
  return words;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool stands_in(const ElementRow& row, std::string_view parent) {
  const std::vector<std::string> parents = split(row.parents, ' ');
  return std::find(parents.begin(), parents.end(), parent) != parents.end();
}

}  // namespace

const ElementRow* find_element(std::string_view name, std::string_view parent) {
  for (const ElementRow& row : kElements) {
    if (row.name == name && (stands_in(row, parent) || (parent.empty() && !*row.parents)))
      return &row;
  }
  return nullptr;
}

const AttributeRow* find_attribute(std::string_view element, std::string_view name) {
  for (const AttributeRow& row : kAttributes) {
    if (row.element == element && row.name == name) return &row;
  }
  return nullptr;
}

const AttributeRow* find_option(std::string_view key) {
  for (const AttributeRow& row : kOptions) {
    if (row.name == key) return &row;
  }
  return nullptr;
}

std::vector<std::string> children_of(std::string_view parent) {
  std::vector<std::string> names;
  for (const ElementRow& row : kElements) {
    if (stands_in(row, parent)) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string> attributes_of(std::string_view element) {
  std::vector<std::string> names;
  for (const AttributeRow& row : kAttributes) {
    if (row.element == element) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string> required_of(std::string_view element) {
  std::vector<std::string> names;
  for (const AttributeRow& row : kAttributes) {
    if (row.element == element && row.required) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string> option_keys() {
  std::vector<std::string> names;
  for (const AttributeRow& row : kOptions) names.push_back(row.name);
  return names;
}

std::string parents_of(std::string_view name) {
  std::string text;
  for (const ElementRow& row : kElements) {
    if (row.name != name) continue;
    for (const std::string& parent : split(row.parents, ' '))
      text += (text.empty() ? "<" : " or <") + parent + ">";
  }
  return text;
}

bool is_yes(const std::string& value) {
  const std::string word = lower(value);
  return word == "true" || word == "1";
}

std::string why_not_a_value(const AttributeRow& row, const std::string& value) {
  const std::string kind = row.values;
  if (kind.empty()) return "";
  if (kind == "#count") {
    const bool good = !value.empty() && value.size() <= 18 &&
                      value.find_first_not_of("0123456789") == std::string::npos;
    return good ? "" : "expected a whole number from 0";
  }
  if (kind == "#yes") {
    const std::string word = lower(value);
    const bool good = is_yes(value) || word == "false" || word == "0";
    return good ? "" : "expected \"true\" or \"false\"";
  }
  const std::vector<std::string> words = split(row.values, '|');
  if (std::find(words.begin(), words.end(), value) != words.end()) return "";
  return "Damaris has no such value" + did_you_mean(value, words);
}

bool says_nothing(const AttributeRow& row, const std::string& value) {
  if (value.empty()) return true;
  if (std::string_view(row.values) == "#yes") return is_yes(value) == is_yes(row.same);
  return value == row.same;
}

std::string Remark::text() const {
  if (more == 0) return message;
  return message + " (and in " + std::to_string(more) +
         (more == 1 ? " more place)" : " more places)");
}

void Remarks::say(Severity severity, const XmlElement& element, const SourceLocation& where,
                  const std::string& message, const std::string& key) {
  const std::string& own = key.empty() ? message : key;
  if (again(own)) return;
  by_key_.emplace(own, all_.size());
  all_.push_back({severity, element.where, where, message});
}

bool Remarks::again(const std::string& key) {
  const auto first = by_key_.find(key);
  if (first == by_key_.end()) return false;
  ++all_[first->second].more;
  return true;
}

void Remarks::say(Fate fate, const XmlElement& element, const SourceLocation& where,
                  const std::string& message, const std::string& key) {
  switch (fate) {
    case Fate::taken:
    case Fate::part:
      return;
    case Fate::noted:
      return say(Severity::note, element, where, message, key);
    case Fate::lost:
      return say(Severity::warning, element, where, message, key);
  }
}

void Remarks::say_to(DiagnosticList& out) const {
  for (const Remark& each : all_) {
    if (each.severity == Severity::warning) {
      out.warning(each.where, each.text());
    } else {
      out.note(each.where, each.text());
    }
  }
}

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

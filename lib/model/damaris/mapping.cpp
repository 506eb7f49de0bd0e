// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/mapping.hpp"

#include <algorithm>
#include <sstream>

#include "lib/base/suggest.hpp"

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

}  // namespace leat::model::damaris

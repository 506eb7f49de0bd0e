// SPDX-License-Identifier: Apache-2.0
// <parameter> and <layout>.
#include <algorithm>
#include <cctype>

#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/tree.hpp"
#include "lib/model/expression_parser.hpp"
#include "lib/model/integer_values.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model::damaris {
namespace {

struct TypeWord {
  const char* damaris;
  const char* parameter;
  const char* layout;
};

// An int has 4 bytes and a long 8, as C has them where Damaris runs.
constexpr TypeWord kTypes[] = {
    {"short", "int", "short"},      {"int", "int", "int"},        {"integer", "int", "int"},
    {"long", "int", "long"},        {"float", "double", "float"}, {"real", "double", "float"},
    {"double", "double", "double"}, {"char", "string", "char"},   {"character", "string", "char"},
    {"string", "string", "char"},   {"label", "string", "char"},
};

const TypeWord* type_word(const std::string& damaris) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const TypeWord& each) { return damaris == each.damaris; });
  return found == std::end(kTypes) ? nullptr : found;
}

// Takes the type over with `word`, or says that there is none.
void take_type(Work& work, XmlElement& to, const XmlElement& from, const char* TypeWord::*word) {
  take(to, "type", from, "type");
  const XmlAttribute* type = given(from, "type");
  if (!type) return;
  if (const TypeWord* known = type_word(type->value)) {
    to.attributes.back().value = known->*word;
    return;
  }
  to.attributes.back().refused = true;
  work.out.error(type->where, "type=\"" + type->value + "\" of <" + from.name +
                                  ">: give the type that the values have");
}

class LayoutTranslation {
 public:
  LayoutTranslation(Work& work, const XmlElement& from, const std::vector<Parameter>& parameters)
      : work_(work), from_(from), parameters_(parameters), known_(parameters) {}

  XmlElement run(const std::string& name, const LayoutUse& use, const Surroundings& around) {
    XmlElement to = element_at(from_, "layout");
    take(to, "name", from_, "name");
    for (XmlAttribute& each : to.attributes) each.value = name;
    take_type(work_, to, from_, &TypeWord::layout);
    type_of_use(to, use);
    take(to, "dimensions", from_, "dimensions");
    order(to, use, around.is_fortran);
    if (given(from_, "global")) take(to, "global", from_, "global");
    ghosts(to);
    varying(to);
    if (around.domains) put(to, "blocks", around.domains->value, from_.where);
    take_description(to, from_);
    return to;
  }

 private:
  // Programs for Damaris set parameters between any two writes.
  void varying(XmlElement& to) {
    const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
    const std::string sizes = value_of(from_, "dimensions") + value_of(from_, "global");
    if (std::any_of(sizes.begin(), sizes.end(), is_letter)) put(to, "varying", "true", from_.where);
  }

  void type_of_use(XmlElement& to, const LayoutUse& use) {
    const std::string type = value_of(from_, "type");
    for (XmlAttribute& each : to.attributes) {
      if (each.name != "type") continue;
      if (use.types && each.value == "char") each.value = "uint8";
      if (type == "string" || type == "label")
        work_.remarks.say(Severity::warning, from_, each.where,
                          "type=\"" + type +
                              "\" of <layout>: values are characters here, \"char\","
                              " of one byte each");
    }
  }

  void order(XmlElement& to, const LayoutUse& use, bool is_fortran) {
    const std::string own = value_of(from_, "language");
    const XmlAttribute* language = given(from_, "language");
    const SourceLocation& where = language ? language->where : from_.where;
    const bool fortran = own == "fortran" || ((own.empty() || own == "unknown") && is_fortran);
    if (fortran) return put(to, "order", "fortran", where);
    if (use.vectors && first_is_short()) {
      work_.remarks.say(Severity::warning, from_, from_.where,
                        "layout \"" + value_of(from_, "name") +
                            "\" is of vectors on an unstructured mesh, which lie one after the "
                            "other: its dimensions \"" +
                            value_of(from_, "dimensions") +
                            "\" are taken as those of Fortran, as Damaris' own readers do");
      return put(to, "order", "fortran", where);
    }
    if (language && own != "unknown") put(to, "order", "c", where);
  }

  // Whether the first dimension is that of components, and the last is not.
  bool first_is_short() const {
    const std::vector<std::string> items = split_list(value_of(from_, "dimensions"));
    if (items.size() != 2) return false;
    const auto is_short = [this](const std::string& text) {
      const ExpressionValue value =
          known_.evaluate({text, parse_expression(text, parameters_).program});
      return value.fault == ExpressionFault::none && value.value >= 2 && value.value <= 3;
    };
    return is_short(items[0]) && !is_short(items[1]);
  }

  void ghosts(XmlElement& to) {
    const XmlAttribute* ghosts = given(from_, "ghosts");
    if (!ghosts) return;
    std::string text;
    bool any = false;
    for (const std::string& item : split_list(ghosts->value)) {
      const std::size_t colon = item.find(':');
      const std::string low = number(*ghosts, item.substr(0, colon));
      const std::string high =
          colon == std::string::npos ? low : number(*ghosts, item.substr(colon + 1));
      any = any || low != "0" || high != "0";
      text += (text.empty() ? "" : ",") + (low == "0" && high == "0" ? "0" : low + ":" + high);
    }
    if (!any) return;
    put(to, "ghosts", text, ghosts->where);
    if (evaluated_)
      work_.remarks.say(Severity::warning, from_, ghosts->where,
                        "ghosts=\"" + ghosts->value +
                            "\" of <layout>: ghosts are numbers here; they are those that the "
                            "values in this file give, \"" +
                            text + "\", whatever the simulation sets");
  }

  // The value of an expression, as text.
  std::string number(const XmlAttribute& ghosts, const std::string& text) {
    if (text.find_first_not_of("0123456789 ") == std::string::npos) return trimmed(text);
    const ParsedExpression parsed = parse_expression(text, parameters_);
    const ExpressionValue value = known_.evaluate({text, parsed.program});
    if (parsed.problem.empty() && value.fault == ExpressionFault::none) {
      evaluated_ = true;
      return std::to_string(value.value);
    }
    work_.out.error(ghosts.where, "layout \"" + value_of(from_, "name") + "\": ghosts, " +
                                      (parsed.problem.empty()
                                           ? "\"" + text + "\" gives " + fault_text(value.fault)
                                           : problem_text(parsed, text)));
    return "0";
  }

  static std::string trimmed(const std::string& text) {
    const std::vector<std::string> items = split_list(text);
    return items.empty() ? "" : items[0];
  }

  Work& work_;
  const XmlElement& from_;
  const std::vector<Parameter>& parameters_;
  IntegerValues known_;
  bool evaluated_ = false;
};

}  // namespace

XmlElement translate_parameter(Work& work, const XmlElement& from) {
  XmlElement to = element_at(from, "parameter");
  take(to, "name", from, "name");
  take_type(work, to, from, &TypeWord::parameter);
  take(to, "value", from, "value");
  take_description(to, from);
  return to;
}

XmlElement translate_layout(Work& work, const XmlElement& from, const std::string& name,
                            const LayoutUse& use, const Surroundings& around,
                            const std::vector<Parameter>& parameters) {
  return LayoutTranslation(work, from, parameters).run(name, use, around);
}

std::optional<XmlElement> layout_of_one(const std::string& type, const SourceLocation& where) {
  const TypeWord* known = type_word(type);
  if (!known) return std::nullopt;
  XmlElement to;
  to.name = "layout";
  to.where = where;
  put(to, "name", type, where);
  put(to, "type", known->layout, where);
  put(to, "dimensions", "", where);
  return to;
}

}  // namespace leat::model::damaris

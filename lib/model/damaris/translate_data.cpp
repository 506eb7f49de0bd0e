// SPDX-License-Identifier: Apache-2.0
// Layouts and variables of Damaris.

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "lib/base/text.hpp"
#include "lib/model/damaris/cell_orders.hpp"
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/translate.hpp"
#include "lib/model/expression_parser.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/xml/parser.hpp"

namespace leat::model::damaris {

// <data>: groups and variables, and who of it is for whom.

namespace {

class DataTranslation {
 public:
  DataTranslation(Work& work, const XmlElement& from, const Surroundings& around)
      : work_(work),
        from_(from),
        around_(around),
        layouts_(from, "layout"),
        meshes_(from, "mesh"),
        variables_(from, "variable") {}

  XmlElement run() {
    XmlElement to = element_at(from_, "data");
    translate_parameters(to);
    translate_meshes();
    find_uses();
    put_simple_layouts(to);
    inside(to, from_);
    return to;
  }

 private:
  using MadeMeshes = std::map<const XmlElement*, std::optional<XmlElement>>;

  void translate_parameters(XmlElement& to) {
    for (const XmlElement& each : from_.children) {
      if (each.name == "parameter") to.children.push_back(translate_parameter(work_, each));
    }
    // With their values, for ghosts that are expressions; what is wrong the reader says later.
    DiagnosticList unheard;
    Model model;
    ReadContext context{work_.schema, unheard, model};
    read_parameters(context, to);
    parameters_ = std::move(model.parameters);
  }

  void translate_meshes() {
    for (const Names::Entry& each : meshes_.all()) {
      made_[each.element] = translate_mesh(work_, *each.element, each.leat);
      for (const XmlElement& part : each.element->children) {
        if (part.name == "coord" && given(part, "unit"))
          axes_.try_emplace(value_of(part, "name"), &part);
      }
    }
  }

  bool is_kept(const Names::Entry* mesh) const { return mesh && made_.at(mesh->element); }

  LayoutUse* use_of(const std::string& variable) {
    const Names::Entry* entry = variables_.find(variable);
    const Names::Entry* layout =
        entry ? layouts_.find(value_of(*entry->element, "layout")) : nullptr;
    return layout ? &uses_[layout->element] : nullptr;
  }

  void find_uses() {
    for (const Names::Entry& each : meshes_.all()) {
      if (!is_kept(&each) || !is_scattered(*each.element)) continue;
      for (const XmlElement& part : each.element->children) {
        LayoutUse* use = use_of(value_of(part, "name"));
        if (use && part.name == "section_types") use->types = true;
        if (use && part.name == "coord") use->vectors = true;
      }
    }
    for (const Names::Entry& each : variables_.all()) {
      const Names::Entry* mesh = meshes_.find(value_of(*each.element, "mesh"));
      if (!is_kept(mesh) || !is_scattered(*mesh->element)) continue;
      if (LayoutUse* use = use_of(each.full)) use->vectors = true;
    }
  }

  static bool is_scattered(const XmlElement& mesh) {
    const std::string type = value_of(mesh, "type");
    return type == "unstructured" || type == "point";
  }

  void put_simple_layouts(XmlElement& to) {
    std::set<std::string> done;
    for (const Names::Entry& each : variables_.all()) {
      const XmlAttribute* layout = given(*each.element, "layout");
      if (!layout || layouts_.find(layout->value)) continue;
      if (!done.insert(layout->value).second) continue;
      if (auto made = layout_of_one(layout->value, each.element->where))
        to.children.push_back(std::move(*made));
    }
  }

  void inside(XmlElement& to, const XmlElement& from) {
    for (const XmlElement& child : from.children) {
      if (child.name == "layout") {
        to.children.push_back(translate_layout(work_, child, layouts_.of(child)->leat,
                                               uses_[&child], around_, parameters_));
      } else if (child.name == "mesh") {
        if (made_.at(&child)) to.children.push_back(*made_.at(&child));
      } else if (child.name == "variable") {
        to.children.push_back(variable(child));
      } else if (child.name == "group") {
        group(to, child);
      }
    }
  }

  // A name with "/" is a group in a group.
  void group(XmlElement& to, const XmlElement& from) {
    XmlElement* inner = &to;
    const XmlAttribute* name = from.find("name");  // refused where the file has none
    const std::string& path = name->value;
    if (std::count(path.begin(), path.end(), '/') > static_cast<std::ptrdiff_t>(kMaxXmlDepth))
      return work_.out.error(name->where, "groups are nested more than 64 deep");
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t slash = std::min(path.find('/', begin), path.size());
      XmlElement made = element_at(from, "group");
      made.attributes.push_back(
          {"name", path.substr(begin, slash - begin), name->where, name->refused});
      inner->children.push_back(std::move(made));
      inner = &inner->children.back();
      begin = slash + 1;
    }
    inside(*inner, from);
  }

  XmlElement variable(const XmlElement& from) {
    XmlElement to = element_at(from, "variable");
    take(to, "name", from, "name");
    take(to, "layout", from, "layout");
    if (to.attributes.size() == 2) {
      if (const Names::Entry* layout = layouts_.find(to.attributes.back().value))
        to.attributes.back().value = layout->leat;
    }
    unit(to, from);
    mesh(to, from);
    if (const XmlAttribute* varying = from.find("time-varying"); varying && !is_yes(varying->value))
      to.attributes.push_back({"time-varying", "false", varying->where, varying->refused});
    store(to, from);
    take_description(to, from);
    return to;
  }

  void unit(XmlElement& to, const XmlElement& from) {
    if (given(from, "unit")) return take(to, "unit", from, "unit");
    const auto axis = axes_.find(variables_.of(from)->full);
    if (axis != axes_.end()) take(to, "unit", *axis->second, "unit");
  }

  void mesh(XmlElement& to, const XmlElement& from) {
    const XmlAttribute* attribute = given(from, "mesh");
    if (!attribute) return;
    const Names::Entry* mesh = meshes_.find(attribute->value);
    if (!mesh) return no_mesh(from, *attribute);
    if (!is_kept(mesh)) return;
    put(to, "mesh", mesh->leat, attribute->where);
    centering(to, from, *mesh->element);
  }

  void no_mesh(const XmlElement& from, const XmlAttribute& mesh) {
    const std::string key = "no mesh " + mesh.value;
    if (work_.remarks.again(key)) return;
    std::vector<std::string> names;
    for (const Names::Entry& each : meshes_.all()) names.push_back(each.full);
    work_.remarks.say(Severity::warning, from, mesh.where,
                      "the file has no mesh \"" + mesh.value +
                          "\": the variable is stored without one" +
                          (names.empty() ? "" : did_you_mean(mesh.value, names)),
                      key);
  }

  void centering(XmlElement& to, const XmlElement& from, const XmlElement& mesh) {
    if (value_of(mesh, "type") == "point") return;
    if (from.find("centering") && value_of(from, "centering") != "zonal")
      take(to, "centering", from, "centering");
  }

  void store(XmlElement& to, const XmlElement& from) {
    const XmlAttribute* attribute = given(from, "store");
    std::vector<std::string> names = stores_in(from);
    const auto& null = around_.null_stores;
    std::erase_if(names, [&](const std::string& name) {
      return std::find(null.begin(), null.end(), name) != null.end();
    });
    for (std::string& name : around_.orders->stores_of_index(from))
      names.push_back(std::move(name));
    const std::string list = joined(names, ",");
    put(to, "store", list.empty() ? "none" : list, attribute ? attribute->where : from.where);
  }

  Work& work_;
  const XmlElement& from_;
  const Surroundings& around_;
  const Names layouts_, meshes_, variables_;
  std::vector<Parameter> parameters_;
  MadeMeshes made_;
  std::map<std::string, const XmlElement*> axes_;  ///< <coord> with a unit, by their variables
  std::map<const XmlElement*, LayoutUse> uses_;
};

}  // namespace

// Damaris takes commas, semicolons and blanks between names.
std::vector<std::string> stores_in(const XmlElement& variable) {
  const XmlAttribute* attribute = given(variable, "store");
  std::string text = attribute ? attribute->value : "";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ';' || c == ' ' || c == '\t'; }, ',');
  std::vector<std::string> names = split_list(text);
  std::erase(names, "");
  return names;
}

XmlElement translate_data(Work& work, const XmlElement& from, const Surroundings& around) {
  return DataTranslation(work, from, around).run();
}

// <parameter> and <layout>.

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

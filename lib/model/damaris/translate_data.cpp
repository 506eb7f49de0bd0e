// SPDX-License-Identifier: Apache-2.0
// <data>: groups and variables, and who of it is for whom.
#include <algorithm>
#include <map>
#include <set>

#include "lib/base/suggest.hpp"
#include "lib/base/words.hpp"
#include "lib/model/damaris/cell_orders.hpp"
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/tree.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/xml_parser.hpp"

namespace leat::model::damaris {
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

}  // namespace leat::model::damaris

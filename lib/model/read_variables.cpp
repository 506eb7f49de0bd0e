// SPDX-License-Identifier: Apache-2.0
// Reads <variable>, and <group> with what its variables inherit.

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/units.hpp"

namespace leat::model {
namespace {

constexpr std::uint32_t kNoLayout = UINT32_MAX;

// What a group gives to the variables inside.
struct Defaults {
  std::string prefix;                   ///< "fields/", or ""
  std::optional<std::uint32_t> layout;  ///< kNoLayout when the one named is none
  std::optional<std::vector<std::uint32_t>> stores;
  std::string unit;
  std::optional<Option> compression;
  Said every, when;
  std::int64_t level = 1;
  std::optional<std::uint32_t> mesh;
  std::optional<Centering> centering;
};

class VariableReader {
 public:
  VariableReader(ReadContext& context, std::set<std::uint32_t> with_fields)
      : context_(context),
        model_(context.model),
        named_layouts_(context.model.layouts),
        with_fields_(std::move(with_fields)) {}

  void inside(const XmlElement& parent, const Defaults& defaults) {
    for (const XmlElement& child : parent.children) {
      if (child.name == "variable") variables(child, defaults);
      if (child.name == "group") group(child, defaults);
      if (child.name == "data") inside(child, defaults);
    }
  }

 private:
  void group(const XmlElement& element, const Defaults& outer) {
    Defaults defaults = with_attributes(element, outer);
    defaults.prefix += Attributes(context_, element).text("name") + "/";
    inside(element, defaults);
  }

  // The attributes that a group and a variable share: of the element, or inherited.
  Defaults with_attributes(const XmlElement& element, Defaults defaults) {
    const Attributes attributes(context_, element);
    if (attributes.has("layout")) {
      refuse_two_shapes(element, attributes);
      defaults.layout = named("layout", named_layouts_, attributes).value_or(kNoLayout);
    } else if (!shape_in(context_, element).empty() && !attributes.has("expr")) {
      std::string name = defaults.prefix + attributes.text("name");
      name.erase(std::min(name.find(','), name.size()));
      std::replace(name.begin(), name.end(), '/', '_');
      defaults.layout = layout_in(context_, element, name).value_or(kNoLayout);
    }
    if (attributes.has("store")) defaults.stores = stores(attributes);
    if (attributes.has("keep") && !attributes.has("store"))
      defaults.stores = {
          static_cast<std::uint32_t>(index_of(model_.stores, attributes.text("name")))};
    if (attributes.has("unit")) defaults.unit = attributes.text("unit");
    if (attributes.has("compression"))
      defaults.compression = {"compression", attributes.text("compression"),
                              attributes.where("compression")};
    if (attributes.given("every")) defaults.every = attributes.said("every");
    if (attributes.given("when")) defaults.when = attributes.said("when");
    if (attributes.given("level")) defaults.level = std::stoll(attributes.text("level"));
    if (attributes.has("mesh")) defaults.mesh = named("mesh", model_.meshes, attributes);
    if (attributes.has("centering"))
      defaults.centering = value_of<Centering>(attributes.text("centering"));
    return defaults;
  }

  // name="u,v" names="y,x_face; y_face,x": a list for each of them.
  void variables(const XmlElement& element, const Defaults& group) {
    const Attributes attributes(context_, element);
    const std::vector<std::string> all = split_list(attributes.text("name")),
                                   lists = split_list(attributes.text("names"), ';');
    if (lists.size() > 1 && lists.size() != all.size())
      context_.error(attributes.where("names"),
                     attributes.title() + ": names has " + counted(lists.size(), "list") +
                         ", with \";\" between, for " + counted(all.size(), "variable") +
                         ": write one for all, or one for each");
    else if (lists.size() > 1 && std::find(lists.begin(), lists.end(), "") != lists.end())
      context_.error(attributes.where("names"),
                     attributes.title() + ": names=\"" + attributes.text("names") +
                         "\": a list is empty: write one for each variable, with \";\" between");
    if (lists.size() < 2) return variable(element, group);
    for (std::size_t i = 0; i < std::min(all.size(), lists.size()); ++i) {
      XmlElement one = element;
      for (XmlAttribute& each : one.attributes)
        if (each.name == "name" || each.name == "names")
          each.value = each.name == "name" ? all[i] : lists[i];
      variable(one, group);
    }
  }

  // One, or several that are alike in all but their names.
  void variable(const XmlElement& element, const Defaults& group) {
    const Attributes attributes(context_, element);
    const Defaults values = with_attributes(element, group);
    Variable variable;
    attributes.read_fields(&variable);
    const std::vector<std::string> names = split_list(variable.name);
    variable.name.insert(0, group.prefix);
    const bool has_layout = values.layout && *values.layout < model_.layouts.size();
    variable.layout = has_layout ? *values.layout : 0;
    variable.unit = values.unit;
    variable.mesh = values.mesh;
    variable.centering =
        values.centering.value_or(on_points(values) ? Centering::nodal : Centering::zonal);
    if (attributes.has("centering")) check_centering(values, attributes);
    variable.stores = values.stores ? *values.stores : all_stores();
    std::erase_if(variable.stores, [&](std::uint32_t each) {
      return each < model_.stores.size() && model_.stores[each].level > 0 &&
             values.level > model_.stores[each].level;
    });
    if (values.compression) variable.options.push_back(*values.compression);
    variable.where = element.where;
    if (!attributes.given("name")) return;
    if (attributes.has("expr") && names.size() > 1)
      return context_.error(
          attributes.where("name"),
          "name=\"" + attributes.text("name") + "\": a variable with expr=\"...\" has one name");
    if (attributes.has("expr")) {
      refuse_shape_of_derived(variable, element, attributes);
      return derived(std::move(variable), attributes, group, values);
    }
    refuse_without_expression(variable, attributes);
    read_every(&variable, attributes, values);
    if (!values.layout) no_layout(variable);
    for (const std::string& name : names) {
      Variable one = variable;
      one.name = group.prefix + name;
      if (!has_layout)
        context_.shapeless.insert(static_cast<std::uint32_t>(model_.variables.size()));
      add(std::move(one), attributes.where("name"));
    }
  }

  // What is written once is in the files whenever that is.
  void read_every(Variable* variable, const Attributes& attributes, const Defaults& values) {
    for (const char* each : {"every", "when"}) {
      if (attributes.has(each) && !variable->time_varying)
        context_.error(attributes.where(each), "variable \"" + variable->name +
                                                   "\" has time-varying=\"false\", and is written "
                                                   "once: take " +
                                                   each + " away");
    }
    if ((values.every.text.empty() && values.when.text.empty()) || !variable->time_varying) return;
    variable->period =
        period_of(context_, "variable \"" + variable->name + "\"", values.every, values.when);
    if (variable->period && iterations_of(context_.model.periods[*variable->period]) == 1)
      variable->period.reset();
    for (const std::uint32_t each : variable->stores) {
      const bool is_told = each < model_.stores.size() && is_checkpoint(model_.stores[each]) &&
                           !model_.stores[each].option("tells", "").empty();
      if (variable->period && is_told)
        context_.error(values.every.text.empty() ? values.when.where : values.every.where,
                       "variable \"" + variable->name + "\": " +
                           why_no_every_when_told(to_text(model_.periods[*variable->period])));
    }
  }

  void refuse_two_shapes(const XmlElement& element, const Attributes& attributes) {
    for (const XmlAttribute* each : shape_in(context_, element))
      return context_.error(
          each->where, attributes.title() + " has layout=\"" + attributes.text("layout") +
                           "\", which says its shape, and " + each->name + "=\"" + each->value +
                           "\": move that into <layout name=\"" + attributes.text("layout") +
                           "\">, or write type and dimensions here and take layout away");
  }

  // That is the shape of what it is made of.
  void refuse_shape_of_derived(const Variable& variable, const XmlElement& element,
                               const Attributes& attributes) {
    std::vector<std::string> refused = {"layout", "time-varying"};
    for (const XmlAttribute* each : shape_in(context_, element)) refused.push_back(each->name);
    for (const std::string& each : refused) {
      if (!attributes.has(each)) continue;
      context_.error(attributes.where(each),
                     "variable \"" + variable.name + "\" has expr=\"" + attributes.text("expr") +
                         "\", and is like what it is made of: take " + each + " away" +
                         (each == "type" ? "; store-type=\"" + attributes.text(each) +
                                               "\" says what it is stored as"
                                         : ""));
    }
  }

  void derived(Variable variable, const Attributes& attributes, const Defaults& group,
               const Defaults& values) {
    variable.layout = 0;
    variable.derived.emplace().operation = value_of<Operation>(attributes.text("operation"));
    if (attributes.given("store-type"))
      variable.derived->store_type = scalar_from_name(attributes.text("store-type"));
    const auto number = static_cast<std::uint32_t>(model_.variables.size());
    context_.shapeless.insert(number);
    ToDerive told{.variable = number,
                  .group = group.prefix,
                  .expression = attributes.said("expr"),
                  .every = values.every,
                  .when = values.when,
                  .unit_out = attributes.said("unit-out"),
                  .select = attributes.said("select"),
                  .reduce = attributes.said("reduce"),
                  .keep_bits = attributes.said("keep-bits"),
                  .scale = attributes.said("scale"),
                  .offset = attributes.said("offset"),
                  .has_mesh = values.mesh.has_value(),
                  .has_unit = !values.unit.empty(),
                  .has_centering = values.centering.has_value()};
    context_.to_derive.push_back(std::move(told));
    const std::size_t before = model_.variables.size();
    add(std::move(variable), attributes.where("name"));
    if (model_.variables.size() == before) context_.to_derive.pop_back();
  }

  void refuse_without_expression(const Variable& variable, const Attributes& attributes) {
    for (const char* each : {"operation", "store-type", "unit-out", "select", "reduce", "keep-bits",
                             "scale", "offset"}) {
      if (!attributes.has(each)) continue;
      context_.error(attributes.where(each),
                     "variable \"" + variable.name + "\" has " + each +
                         "=\"...\", which is for variables that are made of others: write a second "
                         "one, <variable name=\"...\" expr=\"" +
                         variable.name + "\" " + each + "=\"" + attributes.text(each) + "\"/>");
    }
  }

  void add(Variable variable, const SourceLocation& where) {
    const auto [first, is_new] = index_.try_emplace(variable.name, model_.variables.size());
    if (is_new) {
      model_.variables.push_back(std::move(variable));
    } else {
      const SourceLocation& there = model_.variables[first->second].where;
      context_.error(where, "variable \"" + variable.name +
                                "\" is declared twice; the first is in " + line_of(there, where));
    }
  }

  void no_layout(const Variable& variable) {
    context_.error(variable.where,
                   "variable \"" + variable.name +
                       "\" has no layout: give it type=\"...\" and dimensions=\"...\", or "
                       "layout=\"...\" to it or to its group" +
                       did_you_mean("", names_of(named_layouts_)));
  }

  // The index of the element that an attribute names, which is called like that element.
  template <class Named>
  std::optional<std::uint32_t> named(const char* what, const std::vector<Named>& all,
                                     const Attributes& attributes) {
    const XmlAttribute* attribute = attributes.given(what);
    if (!attribute) return std::nullopt;
    return find_named(context_, all, what, attribute->value, attribute->where);
  }

  bool on_points(const Defaults& values) const {
    return values.mesh && model_.meshes[*values.mesh].kind == Mesh::Kind::points;
  }

  void check_centering(const Defaults& values, const Attributes& attributes) {
    if (!on_points(values) || values.centering != Centering::zonal) return;
    context_.error(attributes.where("centering"),
                   "mesh \"" + model_.meshes[*values.mesh].name +
                       "\" is of points and has no cells: centering is \"nodal\"");
  }

  std::vector<std::uint32_t> stores(const Attributes& attributes) {
    std::vector<std::uint32_t> found;
    const XmlAttribute* attribute = attributes.given("store");
    if (!attribute) return found;
    const std::vector<std::string> names = split_list(attribute->value);
    if (names.size() == 1 && names[0] == "none") return found;
    if (names.empty()) {
      context_.error(attribute->where, "store is empty; store=\"none\" means no store");
    }
    for (const std::string& name : names) store(name, attribute->where, found);
    return found;
  }

  void store(const std::string& name, const SourceLocation& where,
             std::vector<std::uint32_t>& found) {
    if (name == "none") return context_.error(where, "\"none\" cannot stand beside other stores");
    const auto index = find_named(context_, model_.stores, "store", name, where);
    if (!index) return;
    if (std::find(found.begin(), found.end(), *index) != found.end())
      return context_.error(where, "store \"" + name + "\" is named twice");
    found.push_back(*index);
  }

  std::vector<std::uint32_t> all_stores() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < model_.stores.size(); ++i)
      if (!is_checkpoint(model_.stores[i]) && with_fields_.count(i) == 0) all.push_back(i);
    return all;
  }

  ReadContext& context_;
  Model& model_;
  const std::vector<Layout> named_layouts_;
  std::set<std::uint32_t> with_fields_;                 ///< stores that take what they name alone
  std::unordered_map<std::string, std::size_t> index_;  ///< of the variables by full name
};

// Else nobody learns before the restart that there is nothing to go on from.
void warn_of_empty_checkpoints(ReadContext& context) {
  const auto takes = [](std::uint32_t store) {
    return [store](const Variable& each) {
      return std::count(each.stores.begin(), each.stores.end(), store) > 0;
    };
  };
  const Model& model = context.model;
  for (std::uint32_t i = 0; i < model.stores.size(); ++i) {
    const Store& store = model.stores[i];
    if (!is_checkpoint(store) ||
        std::any_of(model.variables.begin(), model.variables.end(), takes(i)))
      continue;
    context.out.warning(store.where,
                        "store \"" + store.name +
                            "\" takes nothing: a store of checkpoints has the variables "
                            "that name it, like <variable ... store=\"" +
                            store.name + "\"/>");
  }
}

}  // namespace

void read_variables(ReadContext& context, const XmlElement& root) {
  VariableReader reader(context, stores_with_fields(context, root));
  reader.inside(root, {});
  reader.inside(fields_as_variables(context, root), {});
  take_fields_as_they_are(context, root);
  warn_of_empty_checkpoints(context);
}

}  // namespace leat::model

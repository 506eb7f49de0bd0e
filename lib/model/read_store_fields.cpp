// SPDX-License-Identifier: Apache-2.0
// <field ref="u" operation="mean" every="1 d"/> in a <store>: what it takes, of variables that are declared once.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/model/axis.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

// Calls `use` with each, and the number of its store.
template <class Use>
void for_each_field(ReadContext& context, const XmlElement& root, const Use& use) {
  for (const XmlElement* store : all_below(root, "store")) {
    const std::size_t number =
        index_of(context.model.stores, Attributes(context, *store).text("name"));
    if (number == context.model.stores.size()) continue;
    for (const XmlElement& each : store->children) {
      if (each.name == "field") use(each, static_cast<std::uint32_t>(number));
    }
  }
}

bool is_as_it_is(const XmlElement& field) { return field.attributes.size() == 1; }

// "temperature" of "fields/temperature".
std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

// "" where it is no group.
std::string first_of_group(const Model& model, const std::string& name) {
  if (index_of(model.variables, name) < model.variables.size()) return "";
  for (const Variable& each : model.variables)
    if (each.name.starts_with(name + "/")) return each.name;
  return "";
}

// <variable expr="'fields/T'" operation="mean" ... store="small"/>.
XmlElement as_variable(ReadContext& context, const XmlElement& field, const std::string& store) {
  const Attributes attributes(context, field);
  const std::string ref = attributes.text("ref"), operation = attributes.text("operation");
  XmlElement made = field;
  made.name = "variable";
  for (XmlAttribute& each : made.attributes) {
    if (each.name != "ref") continue;
    each.name = "expr";
    each.value = "'" + ref + "'";
  }
  made.attributes.push_back({"store", store, field.where});
  if (attributes.has("name")) return made;
  if (operation.empty() || operation == "instant")
    context.error(field.where, "this field of \"" + ref +
                                   "\" is a variable of its own: give it a name, like name=\"" +
                                   last_part(ref) + "_2\"");
  made.attributes.push_back(
      {"name", last_part(ref) + "_" + operation, attributes.where("ref"), operation.empty()});
  return made;
}

}  // namespace

std::set<std::uint32_t> stores_with_fields(ReadContext& context, const XmlElement& root) {
  std::set<std::uint32_t> stores;
  for_each_field(context, root,
                 [&](const XmlElement&, std::uint32_t store) { stores.insert(store); });
  return stores;
}

XmlElement fields_as_variables(ReadContext& context, const XmlElement& root) {
  XmlElement made;
  std::set<std::string> names;
  for_each_field(context, root, [&](const XmlElement& field, std::uint32_t store) {
    const Attributes attributes(context, field);
    if (is_as_it_is(field) || !attributes.given("ref")) return;
    const std::string ref = attributes.text("ref"), first = first_of_group(context.model, ref);
    if (!first.empty())
      return context.error(attributes.where("ref"),
                           "ref=\"" + ref +
                               "\" is a group: what is made of its variables has a "
                               "<field> for each, like ref=\"" +
                               first + "\"");
    XmlElement variable = as_variable(context, field, context.model.stores[store].name);
    const std::string name = variable.find("name")->value;
    if (!attributes.has("name") && !names.insert(name).second)
      return context.error(field.where, "a second field called \"" + name +
                                            "\": give it a name of its own, like name=\"" + name +
                                            "_2\"");
    made.children.push_back(std::move(variable));
  });
  return made;
}

void take_fields_as_they_are(ReadContext& context, const XmlElement& root) {
  for_each_field(context, root, [&](const XmlElement& field, std::uint32_t store) {
    const Attributes attributes(context, field);
    if (!is_as_it_is(field) || !attributes.given("ref")) return;
    const std::string ref = attributes.text("ref");
    bool is_there = false;
    for (Variable& each : context.model.variables) {
      if (each.name != ref && !each.name.starts_with(ref + "/")) continue;
      is_there = true;
      if (std::count(each.stores.begin(), each.stores.end(), store) == 0)
        each.stores.push_back(store);
    }
    if (!is_there)
      context.error(attributes.where("ref"),
                    "ref=\"" + ref + "\" is no variable and no group" +
                        did_you_mean(ref, names_of(context.model.variables)));
  });
}

namespace {

// What says where values of a variable lie: variables of its mesh, and those that are called as its dimensions.
std::vector<std::uint32_t> places_of(const Model& model, const Variable& variable) {
  std::vector<std::uint32_t> all;
  if (variable.mesh) {
    const Mesh& mesh = model.meshes[*variable.mesh];
    all = mesh.coordinates;
    for (const auto& each : {mesh.connectivity, mesh.offsets, mesh.types})
      if (each) all.push_back(*each);
  }
  for (std::size_t d = 0; d < layout_of(model, variable).dimensions.size(); ++d) {
    if (const auto coordinate = named_coordinate(model, variable, d)) all.push_back(*coordinate);
  }
  return all;
}

}  // namespace

void add_places_to_fields(ReadContext& context, const XmlElement& root) {
  Model& model = context.model;
  for (const std::uint32_t store : stores_with_fields(context, root)) {
    std::set<std::uint32_t> wanted;
    for (const Variable& each : model.variables) {
      if (std::count(each.stores.begin(), each.stores.end(), store) == 0) continue;
      for (const std::uint32_t place : places_of(model, each)) wanted.insert(place);
    }
    for (const std::uint32_t each : wanted) {
      std::vector<std::uint32_t>& stores = model.variables[each].stores;
      if (std::count(stores.begin(), stores.end(), store) == 0) stores.push_back(store);
    }
  }
}

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// <field ref="u" operation="mean" every="1 d"/> in a <store>: what it takes, of variables that are declared once.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
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
  for_each_field(context, root, [&](const XmlElement& field, std::uint32_t store) {
    if (!is_as_it_is(field) && Attributes(context, field).given("ref"))
      made.children.push_back(as_variable(context, field, context.model.stores[store].name));
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

}  // namespace leat::model

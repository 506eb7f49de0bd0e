// SPDX-License-Identifier: Apache-2.0
// Reads <variable>, and <group> with what its variables inherit.
#include <algorithm>
#include <unordered_map>

#include "lib/base/suggest.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

// What a group gives to the variables inside.
struct Defaults {
  std::string prefix;  ///< "fields/", or ""
  std::optional<std::uint32_t> layout;
  std::optional<std::vector<std::uint32_t>> stores;
  std::string unit;
  std::optional<Option> compression;
  std::optional<std::uint32_t> mesh;
  std::optional<Centering> centering;
};

class VariableReader {
 public:
  explicit VariableReader(ReadContext& context) : context_(context), model_(context.model) {}

  void inside(const XmlElement& parent, const Defaults& defaults) {
    for (const XmlElement& child : parent.children) {
      if (child.name == "variable") variable(child, defaults);
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

  // The attributes that a group and a variable share, said or inherited.
  Defaults with_attributes(const XmlElement& element, Defaults defaults) {
    const Attributes attributes(context_, element);
    if (attributes.has("layout")) defaults.layout = layout(attributes);
    if (attributes.has("store")) defaults.stores = stores(attributes);
    if (attributes.has("unit")) defaults.unit = attributes.text("unit");
    if (attributes.has("compression"))
      defaults.compression = {"compression", attributes.text("compression"),
                              attributes.where("compression")};
    if (attributes.has("mesh")) defaults.mesh = mesh(attributes);
    if (attributes.has("centering")) defaults.centering = centering(attributes);
    return defaults;
  }

  void variable(const XmlElement& element, const Defaults& group) {
    const Attributes attributes(context_, element);
    const Defaults said = with_attributes(element, group);
    Variable variable;
    variable.name = group.prefix + attributes.text("name");
    const bool has_layout = said.layout && *said.layout < model_.layouts.size();
    variable.layout = has_layout ? *said.layout : 0;
    variable.unit = said.unit;
    variable.description = attributes.text("description");
    variable.standard_name = attributes.text("standard-name");
    variable.cell_methods = attributes.text("cell-methods");
    variable.mesh = said.mesh;
    variable.centering =
        said.centering.value_or(on_points(said) ? Centering::nodal : Centering::zonal);
    if (attributes.has("centering")) check_centering(said, attributes);
    variable.time_varying = attributes.text("time-varying") == "true";
    variable.stores = said.stores ? *said.stores : all_stores();
    if (said.compression) variable.options.push_back(*said.compression);
    variable.where = element.where;
    if (!attributes.given("name")) return;
    if (!said.layout) no_layout(variable);
    if (!has_layout) context_.shapeless.insert(static_cast<std::uint32_t>(model_.variables.size()));
    add(std::move(variable), attributes.where("name"));
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
                       "\" has no layout: give layout=\"...\" to it or to its group" +
                       did_you_mean("", names_of(model_.layouts)));
  }

  // An index, that of none after an error.
  std::uint32_t layout(const Attributes& attributes) {
    const XmlAttribute* attribute = attributes.given("layout");
    const std::size_t index =
        attribute ? index_of(model_.layouts, attribute->value) : model_.layouts.size();
    if (!attribute || index < model_.layouts.size()) return static_cast<std::uint32_t>(index);
    const std::string hint = model_.layouts.empty()
                                 ? "; the file has no <layout>"
                                 : did_you_mean(attribute->value, names_of(model_.layouts));
    context_.error(attribute->where, "unknown layout \"" + attribute->value + "\"" + hint);
    return static_cast<std::uint32_t>(index);
  }

  std::optional<std::uint32_t> mesh(const Attributes& attributes) {
    const XmlAttribute* attribute = attributes.given("mesh");
    if (!attribute) return std::nullopt;
    const std::size_t index = index_of(model_.meshes, attribute->value);
    if (index < model_.meshes.size()) return static_cast<std::uint32_t>(index);
    const std::string hint = model_.meshes.empty()
                                 ? "; the file has no <mesh>"
                                 : did_you_mean(attribute->value, names_of(model_.meshes));
    context_.error(attribute->where, "unknown mesh \"" + attribute->value + "\"" + hint);
    return std::nullopt;
  }

  static Centering centering(const Attributes& attributes) {
    return number_of(kCenterings, attributes.text("centering"));
  }

  bool on_points(const Defaults& said) const {
    return said.mesh && model_.meshes[*said.mesh].kind == Mesh::Kind::points;
  }

  void check_centering(const Defaults& said, const Attributes& attributes) {
    if (!on_points(said) || said.centering != Centering::zonal) return;
    context_.error(attributes.where("centering"),
                   "mesh \"" + model_.meshes[*said.mesh].name +
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
    const auto index = static_cast<std::uint32_t>(index_of(model_.stores, name));
    if (name == "none") {
      context_.error(where, "\"none\" cannot stand beside other stores");
    } else if (index == model_.stores.size()) {
      const std::string hint = model_.stores.empty() ? "; the file has no <store>"
                                                     : did_you_mean(name, names_of(model_.stores));
      context_.error(where, "unknown store \"" + name + "\"" + hint);
    } else if (std::find(found.begin(), found.end(), index) != found.end()) {
      context_.error(where, "store \"" + name + "\" is named twice");
    } else {
      found.push_back(index);
    }
  }

  std::vector<std::uint32_t> all_stores() const {
    std::vector<std::uint32_t> all(model_.stores.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  ReadContext& context_;
  Model& model_;
  std::unordered_map<std::string, std::size_t> index_;  ///< of the variables by full name
};

}  // namespace

void read_variables(ReadContext& context, const XmlElement& root) {
  VariableReader(context).inside(root, {});
}

}  // namespace leat::model

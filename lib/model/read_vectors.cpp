// SPDX-License-Identifier: Apache-2.0
// <vector>: which variables are the components of one field, and that they lie at the same places.

#include <algorithm>
#include <optional>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

constexpr std::size_t kLeast = 2, kMost = 3;  // components

struct Vector {
  std::string name;
  SourceLocation where;
};

class VectorReader {
 public:
  explicit VectorReader(ReadContext& context) : context_(context), model_(context.model) {}

  void inside(const XmlElement& parent, const std::string& prefix) {
    for (const XmlElement& child : parent.children) {
      const std::string own = child.name == "group" ? Attributes(context_, child).text("name") : "";
      if (child.name == "vector") vector(child, prefix);
      if (child.name == "data") inside(child, prefix);
      if (child.name == "group") inside(child, prefix + own + "/");
    }
  }

 private:
  void vector(const XmlElement& element, const std::string& prefix) {
    const Attributes attributes(context_, element);
    if (!attributes.given("name") || !attributes.given("components")) return;
    const std::string name = prefix + attributes.text("name");
    if (index_of(model_.variables, name) < model_.variables.size())
      return context_.error(attributes.where("name"),
                            "vector \"" + name + "\": a variable has this name");
    const std::size_t known = vectors_.size();
    add_named(context_, &vectors_, "vector", Vector{name, element.where}, attributes);
    if (vectors_.size() == known) return;
    const std::vector<std::string> names = split_list(attributes.text("components"));
    const SourceLocation& where = attributes.where("components");
    if (names.size() < kLeast || names.size() > kMost)
      return context_.error(where, "vector \"" + name + "\" has " + std::to_string(names.size()) +
                                       " components; it has 2 or 3, x first");
    std::vector<std::uint32_t> components;
    for (const std::string& each : names) {
      const std::optional<std::uint32_t> found = component(each, prefix, where);
      if (!found || context_.shapeless.count(*found) > 0) return;  // that was said
      components.push_back(*found);
    }
    tie(name, components, where);
  }

  // One of the same group is named without it, another one with all of its name.
  std::optional<std::uint32_t> component(const std::string& name, const std::string& prefix,
                                         const SourceLocation& where) {
    const std::size_t inside = index_of(model_.variables, prefix + name);
    if (inside < model_.variables.size()) return static_cast<std::uint32_t>(inside);
    return find_named(context_, model_.variables, "variable", name, where);
  }

  void tie(const std::string& name, const std::vector<std::uint32_t>& components,
           const SourceLocation& where) {
    const Variable& first = model_.variables[components[0]];
    for (std::size_t i = 0; i < components.size(); ++i) {
      const Variable& own = model_.variables[components[i]];
      const bool is_twice = std::count(components.begin(), components.end(), components[i]) > 1;
      std::string why = i == 0 ? "" : why_apart(first, own);
      if (!why.empty()) why = "\"" + first.name + "\" and \"" + own.name + "\" " + why;
      if (is_twice) why = "\"" + own.name + "\" is named twice";
      if (!own.vector.empty())
        why = "\"" + own.name + "\" is a component of another vector already: " + own.vector;
      if (!why.empty()) return context_.error(where, "vector \"" + name + "\": " + why);
    }
    for (std::size_t i = 1; i < components.size(); ++i) {
      const Variable& own = model_.variables[components[i]];
      if (first.stores == own.stores && first.period == own.period) continue;
      context_.out.warning(where, "vector \"" + name + "\": \"" + first.name + "\" and \"" +
                                      own.name +
                                      "\" are not kept by the same stores in the same iterations: "
                                      "ParaView may not see it in files, scripts do");
      break;
    }
    for (std::size_t i = 0; i < components.size(); ++i)
      model_.variables[components[i]].vector = name + "[" + std::to_string(i) + "]";
  }

  // Why two are no components of one field: "" where they may be, as far as sizes are known.
  std::string why_apart(const Variable& a, const Variable& b) const {
    const Layout &one = layout_of(model_, a), &other = layout_of(model_, b);
    if (one.type != other.type)
      return std::string("have the types ") + scalar_name(one.type) + " and " +
             scalar_name(other.type);
    if (a.unit != b.unit) return "have the units \"" + a.unit + "\" and \"" + b.unit + "\"";
    if (a.mesh != b.mesh) return "do not lie on the same mesh";
    if (a.time_varying != b.time_varying)
      return "do not both vary in time: time-varying=\"...\" of both must say the same";
    if (one.dimensions.size() != other.dimensions.size())
      return "have " + std::to_string(one.dimensions.size()) + " and " +
             std::to_string(other.dimensions.size()) + " dimensions";
    const IntegerValues values(model_.parameters);
    for (std::size_t d = 0; d < one.dimensions.size(); ++d) {
      const std::optional<std::int64_t> here = whole_extent(values, one, d),
                                        there = whole_extent(values, other, d);
      const std::string &name = one.dimensions[d].name, &its = other.dimensions[d].name;
      const bool are_named =
          name != unnamed(one, d) && its != unnamed(other, d);  // somebody has given the names
      if ((here && there && *here != *there) || (are_named && name != its))
        return "do not lie at the same places: along \"" + name + "\", and along \"" + its +
               "\". What lies on faces is brought to the cells by expr=\"mid(" + b.name + ", " +
               its + ")\"";
    }
    return a.centering == b.centering ? "" : "do not have the same centering";
  }

  static std::string unnamed(const Layout& layout, std::size_t d) {
    return layout.name + "_" + std::to_string(d);
  }

  ReadContext& context_;
  Model& model_;
  std::vector<Vector> vectors_;
};

}  // namespace

void read_vectors(ReadContext& context, const XmlElement& root) {
  VectorReader(context).inside(root, "");
}

}  // namespace leat::model

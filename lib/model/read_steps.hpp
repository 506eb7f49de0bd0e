// SPDX-License-Identifier: Apache-2.0
// The steps from a checked tree to a Model, one file each. A step never gives up: what is wrong is
// said and left out, so that the next steps find the rest. A Model with errors is thrown away by
// the reader.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/diagnostics.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/model/xml/tree.hpp"

namespace leat::model {

struct ReadContext {
  const Schema& schema;
  DiagnosticList& out;
  Model& model;
  std::set<std::uint32_t> shapeless{};  ///< variables whose layout was refused, and stands for none

  void error(const SourceLocation& where, std::string message) {
    out.error(where, std::move(message));
  }
};

/// Name, description, <architecture> and <log>.
void read_simulation(ReadContext& context, const XmlElement& root);
void read_parameters(ReadContext& context, const XmlElement& root);
/// After the parameters.
void read_layouts(ReadContext& context, const XmlElement& root);
void read_stores(ReadContext& context, const XmlElement& root);
void read_scripts(ReadContext& context, const XmlElement& root);
/// After stores, variables and scripts: functions of libraries become stores that no variable names.
void read_events(ReadContext& context, const XmlElement& root);
/// All but the variables that a mesh names. After the parameters.
void read_meshes(ReadContext& context, const XmlElement& root);
/// After layouts, meshes and stores.
void read_variables(ReadContext& context, const XmlElement& root);
/// What meshes need to know of variables, and whether they fit together. After the variables.
void link_meshes(ReadContext& context, const XmlElement& root);

/// The attributes of one element as the schema sees them.
class Attributes {
 public:
  Attributes(const ReadContext& context, const XmlElement& element)
      : element_(element), rule_(context.schema.find(element.name)) {}

  /// The attribute if it is there and was not refused, else null.
  const XmlAttribute* given(std::string_view name) const;
  /// It is there, be it with a bad value.
  bool has(std::string_view name) const { return element_.find(name) != nullptr; }
  /// The value, else the default of the schema.
  std::string text(std::string_view name) const;
  /// Of the attribute, else of the element.
  const SourceLocation& where(std::string_view name) const;

 private:
  const XmlElement& element_;
  const ElementRule* rule_;
};

/// All elements `name` below `parent`, in the order of the file.
std::vector<const XmlElement*> all_below(const XmlElement& parent, std::string_view name);

/// The one element `name` below `root`, or an empty one, whose attributes are the defaults of the
/// schema. A second one is an error.
XmlElement only(ReadContext& context, const XmlElement& root, const std::string& name);

/// "a, b" to {"a", "b"}; "" and blanks to none.
std::vector<std::string> split_list(std::string_view text);

/// The index of the struct of this name, or the size of `all`.
template <class Named>
std::size_t index_of(const std::vector<Named>& all, std::string_view name) {
  std::size_t i = 0;
  while (i < all.size() && all[i].name != name) ++i;
  return i;
}

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& each : all) names.push_back(each.name);
  return names;
}

/// Says so when `all` has one of this name already; `what` is "layout" or so.
template <class Named>
bool refuse_duplicate(ReadContext& context, const std::vector<Named>& all, const std::string& what,
                      const std::string& name, const SourceLocation& where) {
  const std::size_t first = index_of(all, name);
  if (first == all.size()) return false;
  context.error(where, what + " \"" + name + "\" is declared twice; the first is in " +
                           line_of(all[first].where, where));
  return true;
}

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// The steps from a checked tree to a Model, one file each. A step never gives up: what is wrong is
// said and left out, so that the next steps find the rest. A Model with errors is thrown away by
// the reader.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/scalar.hpp"
#include "lib/base/text.hpp"
#include "lib/model/diagnostics.hpp"
#include "lib/model/fields.hpp"
#include "lib/model/physical_units.hpp"
#include "lib/model/words.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/model/xml/tree.hpp"

namespace leat::model {

/// The text of an attribute; "" where there is none.
struct Said {
  std::string text;
  SourceLocation where;
};

/// when="..." of something that has the period of this number.
struct ToCondition {
  std::uint32_t period = 0;
  Said text;
  std::string who;
};

/// A variable that is made of others, as it was read: what they are is known when all have been.
struct ToDerive {
  std::uint32_t variable = 0;
  std::string group;  ///< whose variables it may name without it: "fields/", or ""
  Said expression, every, when, unit_out, select, reduce, keep_bits, scale, offset;
  Along along{};  ///< it is made of neighbours of what it names
  bool has_mesh = false, has_unit = false, has_centering = false;
  /// How far it has come. Why one is refused has been said.
  enum class State { read, under_way, settled, refused } state = State::read;
  bool is_refused() const noexcept { return state == State::refused; }
};

/// A place along a dimension, of what is selected of a variable, whose unit is that of a coordinate.
struct ToPlace {
  std::uint32_t variable = 0;  ///< derived
  std::size_t dimension = 0;
  std::string unit;
  Said select;
  std::string end_unit;  ///< of a range: that of its other end
};

struct ReadContext {
  const Schema& schema;
  DiagnosticList& out;
  Model& model;
  std::set<std::uint32_t> shapeless{};  ///< variables whose layout was refused, and stands for none
  std::map<std::string, std::uint32_t> shapes{};  ///< layouts of layout_in, by what they say
  std::deque<ToDerive> to_derive{};               ///< a deque: what is read asks for more of them
  std::vector<ToCondition> conditions{};
  std::vector<ToPlace> to_place{};
  std::unique_ptr<PhysicalUnits> units{};  ///< by physical_units()

  /// Made for the first that asks: most files have nothing to ask.
  const PhysicalUnits& physical_units() {
    if (!units) units = std::make_unique<PhysicalUnits>();
    return *units;
  }

  void error(const SourceLocation& where, std::string message) {
    out.error(where, std::move(message));
  }
};

/// Name, description, <architecture> and <log>.
void read_simulation(ReadContext& context, const XmlElement& root);
void read_parameters(ReadContext& context, const XmlElement& root);
/// What all <data> say themselves.
void read_data(ReadContext& context, const XmlElement& root);
/// After the parameters.
void read_layouts(ReadContext& context, const XmlElement& root);
/// What a <variable> says itself of what a <layout> says.
std::vector<const XmlAttribute*> shape_in(const ReadContext& context, const XmlElement& variable);
/// The layout of one that does: a new one of this name, or that of a variable before which says the same. Nothing: it was refused.
std::optional<std::uint32_t> layout_in(ReadContext& context, const XmlElement& variable,
                                       const std::string& name);
void read_stores(ReadContext& context, const XmlElement& root);
void read_scripts(ReadContext& context, const XmlElement& root);
/// After stores, variables and scripts: functions of libraries become stores that no variable names.
void read_events(ReadContext& context, const XmlElement& root);
/// That nodes are there for what is to be done on them.
void check_places(ReadContext& context, const XmlElement& root);
/// Of a store of checkpoints that tells ranks when the run is to end, or of its variables.
std::string why_no_every_when_told(const std::string& every);
/// All but the variables that a mesh names. After the parameters.
void read_meshes(ReadContext& context, const XmlElement& root);
/// After layouts, meshes and stores.
void read_variables(ReadContext& context, const XmlElement& root);
/// <field>s of stores: which stores have some, and so take no variable that names no store; those that are made of others, as <variable>s;
/// and, after the variables, those that are variables as they are.
std::set<std::uint32_t> stores_with_fields(ReadContext& context, const XmlElement& root);
XmlElement fields_as_variables(ReadContext& context, const XmlElement& root);
void take_fields_as_they_are(ReadContext& context, const XmlElement& root);
/// Coordinates, and what else says where their values lie, go with fields. After link_meshes.
void add_places_to_fields(ReadContext& context, const XmlElement& root);
/// What variables with expr="..." are made of, and conditions. After variables and events.
void read_derived(ReadContext& context);
/// Which variables are the coordinates of meshes, and which are not there. Before read_derived, which asks for their units.
void name_coordinates(ReadContext& context, const XmlElement& root);
/// Coordinates of what is selected, and of derivatives. After link_meshes.
void read_places(ReadContext& context);
/// Of dimension `d` of what the variable is made of: what the texts of `each` say. "", or why it is no place.
std::string place_selected(ReadContext& context, const ToDerive& told, std::size_t d,
                           SelectedDimension* each);
/// Of what moves.
inline constexpr char kNothingOverTime[] =
    "a place that moves has nothing over time, and no last value: select it in a variable of its "
    "own";
void refuse_selection(ReadContext& context, const Variable& variable, const Said& select,
                      const std::string& why);
/// What meshes need to know of variables, and whether they fit together. After the variables.
void link_meshes(ReadContext& context, const XmlElement& root);

/// Which variables are components of which <vector>. After link_meshes.
void read_vectors(ReadContext& context, const XmlElement& root);

/// Of this period, which is there from now on.
std::uint32_t number_of_period(Model* model, const Every& every);
/// The number of the period that every="..." and when="..." say, of a store or variable that is called `who`; nothing
/// where `every` says none, which is an error then. `may_end`: it may be the last iteration. After the parameters.
std::optional<std::uint32_t> period_of(ReadContext& context, const std::string& who,
                                       const Said& every, const Said& when, bool may_end = false);
/// Who makes of values what is stored of them.
enum class StoringResult { as_it_is, by_the_store, refused };
/// Of a variable that is made of others, and stored as `type`.
StoringResult read_storing(ReadContext& context, const ToDerive& told, ScalarType type);
/// What conditions are made of. max(T), min(T), mean(T) and sum(T) in them become variables to derive, of these names, without store. After
/// variables and events.
void read_conditions(ReadContext& context);
/// One of them, of a period whose condition is not known yet. Names in it are those of other conditions.
void read_condition(ReadContext& context, const ToCondition& told);
/// That variables in them have one value for all of the run. After these have their shapes.
void check_conditions(ReadContext& context);
/// A store whose variables have several time axes becomes several, each with a file. At last.
void give_each_file_one_time_axis(ReadContext& context);

/// The attributes of one element as the schema sees them.
class Attributes {
 public:
  Attributes(ReadContext& context, const XmlElement& element)
      : context_(context), element_(element), rule_(context.schema.find(element.name)) {}

  /// The attribute if it is there and was not refused, else null.
  const XmlAttribute* given(std::string_view name) const;
  /// It is there, be it with a bad value.
  bool has(std::string_view name) const { return element_.find(name) != nullptr; }
  /// The value, else the default of the schema.
  std::string text(std::string_view name) const;
  /// Of the attribute, else of the element.
  const SourceLocation& where(std::string_view name) const;
  /// `variable "u,v"`: the element, as it is called there.
  std::string title() const { return element_.name + " \"" + text("name") + "\""; }
  Said said(std::string_view name) const { return {text(name), where(name)}; }

  /// Sets all fields of fields.def: of a struct of the model, or of one that it is made of.
  template <class Fields>
  void read_fields(Fields* into) const {
    each_field(*into, [this](const Field& field, auto& member, const auto&) {
      if (*field.attribute) this->read(field.attribute, &member);
    });
  }

 private:
  // What is no value of the type was refused by the schema, and no model comes of it.
  template <class Enum>
  void read(const char* name, Enum* to) const {
    *to = value_of<Enum>(text(name));
  }
  void read(const char* name, std::string* to) const { *to = text(name); }
  void read(const char* name, bool* to) const { *to = text(name) == "true"; }
  void read(const char* name, std::vector<std::string>* words) const;
  void read(const char* name, std::int64_t* count) const;
  void read(const char* name, std::uint64_t* bytes) const;
  void read(const char* name, double* seconds) const;
  void read(const char* name, ScalarType* to) const;

  ReadContext& context_;
  const XmlElement& element_;
  const ElementRule* rule_;
};

/// What `variable` of the environment says comes before `said`, what the XML says: what suits one machine, or one run. A word of no
/// value is an error at `where`.
template <class Enum>
Enum chosen(ReadContext& context, const SourceLocation& where, const char* variable, Enum said) {
  const char* const word = std::getenv(variable);
  if (!word || !*word) return said;
  const Enum value = value_of<Enum>(word);
  if (std::string_view(word) == word_of(value)) return value;
  std::string all;
  for (const Word<Enum>& each : kWords<Enum>) all += " \"" + std::string(each.word) + "\"";
  context.error(where, std::string(variable) + "=\"" + word + "\": it is one of" + all);
  return value;
}

/// What LEAT_RUNS says if that is one of `able`, else `said`: a run has analyses of several kinds, and each word is none of all of
/// them.
Schedule chosen_schedule(ReadContext& context, const SourceLocation& where, Schedule said,
                         std::initializer_list<Schedule> able);

/// All elements `name` below `parent`, in the order of the file.
std::vector<const XmlElement*> all_below(const XmlElement& parent, std::string_view name);

/// The one element `name` below `root`, or an empty one, whose attributes are the defaults of the
/// schema. A second one is an error.
XmlElement only(ReadContext& context, const XmlElement& root, const std::string& name);

/// "a, b" to {"a", "b"}; "" and blanks to none.
std::vector<std::string> split_list(std::string_view text, char between = ',');

/// The index of the struct of this name, or the size of `all`.
template <class Named>
std::size_t index_of(const std::vector<Named>& all, std::string_view name) {
  std::size_t i = 0;
  while (i < all.size() && all[i].name != name) ++i;
  return i;
}

inline const Layout& layout_of(const Model& model, const Variable& variable) {
  return model.layouts[variable.layout];
}

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& each : all) names.push_back(each.name);
  return names;
}

/// The index of the element of this name; one that is not there is an error at `where`. `what` is "layout" or so.
template <class Named>
std::optional<std::uint32_t> find_named(ReadContext& context, const std::vector<Named>& all,
                                        const std::string& what, const std::string& name,
                                        const SourceLocation& where) {
  const std::size_t index = index_of(all, name);
  if (index < all.size()) return static_cast<std::uint32_t>(index);
  context.error(where, "unknown " + what + " \"" + name + "\"" +
                           (all.empty() ? "; the file has no <" + what + ">"
                                        : did_you_mean(name, names_of(all))));
  return std::nullopt;
}

/// Adds `one` to `all`, unless it has no name, which was said, or one that another has; `what` is "layout" or so.
template <class Named>
void add_named(ReadContext& context, std::vector<Named>* all, const char* what, Named one,
               const Attributes& attributes) {
  if (!attributes.given("name")) return;
  const SourceLocation& where = attributes.where("name");
  const std::size_t first = index_of(*all, one.name);
  if (first == all->size()) return all->push_back(std::move(one));
  context.error(where, std::string(what) + " \"" + one.name +
                           "\" is declared twice; the first is in " +
                           line_of((*all)[first].where, where));
}

}  // namespace leat::model

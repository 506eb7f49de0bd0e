// SPDX-License-Identifier: Apache-2.0
// The data of a run: parameters, layouts, variables.

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/expression_parser.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/units.hpp"

namespace leat::model {

// Reads <variable>, and <group> with what its variables inherit.

namespace {

// What a group gives to the variables inside.
struct Defaults {
  std::string prefix;                   ///< "fields/", or ""
  std::optional<std::uint32_t> layout;  ///< the number of layouts when the one named is none
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
      : context_(context), model_(context.model), with_fields_(std::move(with_fields)) {}

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

  // The attributes that a group and a variable share: of the element, or inherited.
  Defaults with_attributes(const XmlElement& element, Defaults defaults) {
    const Attributes attributes(context_, element);
    if (attributes.has("layout")) {
      const auto none = static_cast<std::uint32_t>(model_.layouts.size());
      defaults.layout = named("layout", model_.layouts, attributes).value_or(none);
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

  void variable(const XmlElement& element, const Defaults& group) {
    const Attributes attributes(context_, element);
    const Defaults values = with_attributes(element, group);
    Variable variable;
    attributes.read_fields(&variable);
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
    if (attributes.has("expr")) return derived(std::move(variable), attributes, group, values);
    refuse_without_expression(variable, attributes);
    read_every(&variable, attributes, values);
    if (!values.layout) no_layout(variable);
    if (!has_layout) context_.shapeless.insert(static_cast<std::uint32_t>(model_.variables.size()));
    add(std::move(variable), attributes.where("name"));
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

  // Its layout is that of what it is made of.
  void derived(Variable variable, const Attributes& attributes, const Defaults& group,
               const Defaults& values) {
    for (const char* each : {"layout", "time-varying"}) {
      if (!attributes.has(each)) continue;
      context_.error(attributes.where(each),
                     "variable \"" + variable.name + "\" has expr=\"" + attributes.text("expr") +
                         "\", and is like what it is made of: take " + each + " away");
    }
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
                       "\" has no layout: give layout=\"...\" to it or to its group" +
                       did_you_mean("", names_of(model_.layouts)));
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
  std::set<std::uint32_t> with_fields_;                 ///< stores that take what they name alone
  std::unordered_map<std::string, std::size_t> index_;  ///< of the variables by full name
};

}  // namespace

void read_variables(ReadContext& context, const XmlElement& root) {
  VariableReader reader(context, stores_with_fields(context, root));
  reader.inside(root, {});
  reader.inside(fields_as_variables(context, root), {});
  take_fields_as_they_are(context, root);
}

// Reads <layout>: type, dimensions and ghost cells.

namespace {

bool read_count(std::string_view text, std::int64_t& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && end == text.data() + text.size() && number >= 0;
}

// "1:2", or "1" for both ends.
bool read_ghosts(const std::string& text, Dimension& dimension) {
  const std::size_t colon = text.find(':');
  const std::string low = text.substr(0, colon);
  const std::string high = colon == std::string::npos ? low : text.substr(colon + 1);
  std::int64_t sum = 0;
  return read_count(low, dimension.ghost_low) && read_count(high, dimension.ghost_high) &&
         !__builtin_add_overflow(dimension.ghost_low, dimension.ghost_high, &sum);
}

bool is_identifier(const std::string& text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto later = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), later);
}

class LayoutReader {
 public:
  LayoutReader(ReadContext& context, const XmlElement& element)
      : context_(context), attributes_(context, element) {
    attributes_.read_fields(&layout_);
    layout_.where = element.where;
  }

  Layout run() {
    read_dimensions();
    const bool shape_known = attributes_.given("dimensions") && fits_;
    if (shape_known) {
      read_global();
      read_position();
      read_all_ghosts();
      read_names();
    }
    if (shape_known && fits_) check_layout(context_, layout_, attributes_);
    to_c_order();
    return std::move(layout_);
  }

 private:
  void error(const char* attribute, const std::string& message) {
    fits_ = false;
    context_.error(attributes_.where(attribute), "layout \"" + layout_.name + "\": " + message);
  }

  Expression expression(const char* attribute, std::size_t index, const std::string& text) {
    ParsedExpression parsed = parse_expression(text, context_.model.parameters);
    if (text.empty()) {
      error(attribute, "item " + std::to_string(index + 1) + " of " + attribute +
                           " is empty: there is a comma too many");
    } else if (!parsed.problem.empty()) {
      error(attribute, std::string(attribute) + ", " + problem_text(parsed, text));
    }
    return {text, std::move(parsed.program)};
  }

  void read_dimensions() {
    const std::vector<std::string> items = split_list(attributes_.text("dimensions"));
    if (items.size() > kMaxDims) {
      return error("dimensions",
                   std::to_string(items.size()) + " dimensions; 8 are the most that there can be");
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      Dimension dimension;
      dimension.varying = items[i] == "?";
      if (!dimension.varying) dimension.extent = expression("dimensions", i, items[i]);
      layout_.dimensions.push_back(std::move(dimension));
    }
  }

  // The items of an attribute that has one for each dimension; none when it is not given or does
  // not fit.
  std::vector<std::string> per_dimension(const char* attribute) {
    std::vector<std::string> items = split_list(attributes_.text(attribute));
    const std::size_t wanted = layout_.dimensions.size();
    if (items.empty() || items.size() == wanted) return items;
    error(attribute, std::string(attribute) + " has " + std::to_string(items.size()) +
                         (items.size() == 1 ? " item" : " items") + ", but dimensions=\"" +
                         attributes_.text("dimensions") + "\" has " + std::to_string(wanted));
    return {};
  }

  void read_global() {
    const std::vector<std::string> items = per_dimension("global");
    layout_.has_global = !items.empty();
    layout_.partial = attributes_.text("coverage") == "partial";
    if (attributes_.given("coverage") && !layout_.has_global)
      error("coverage", "coverage speaks of the global array, and there is no global=\"...\"");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i] == "?") {
        error("global", "\"?\" cannot stand in global: the size of the whole must be known");
      } else {
        layout_.dimensions[i].global = expression("global", i, items[i]);
      }
    }
  }

  void read_position() {
    const std::vector<std::string> items = per_dimension("position");
    if (!items.empty() && !layout_.has_global)
      return error("position", "position is in the global array, and there is no global=\"...\"");
    for (std::size_t i = 0; i < items.size(); ++i)
      layout_.dimensions[i].position = expression("position", i, items[i]);
  }

  void read_all_ghosts() {
    const std::vector<std::string> items = per_dimension("ghosts");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (read_ghosts(items[i], layout_.dimensions[i])) continue;
      error("ghosts",
            "\"" + items[i] + "\" in ghosts is no \"low:high\", like \"1:1\", nor a number");
    }
  }

  void read_names() {
    const std::vector<std::string> items = per_dimension("names");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!is_identifier(items[i])) {
        error("names", "\"" + items[i] + "\" is no name of a dimension: expected " +
                           "a letter or \"_\", then letters, digits and \"_\"");
      } else if (std::find(items.begin(), items.begin() + i, items[i]) != items.begin() + i) {
        error("names", "two dimensions have the name \"" + items[i] + "\"");
      }
      layout_.dimensions[i].name = items[i];
    }
  }

  // Files are the same whichever order the XML has.
  void to_c_order() {
    std::vector<Dimension>& dimensions = layout_.dimensions;
    if (layout_.order == Order::fortran) std::reverse(dimensions.begin(), dimensions.end());
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i].name.empty()) dimensions[i].name = layout_.name + "_" + std::to_string(i);
    }
  }

  ReadContext& context_;
  Attributes attributes_;
  Layout layout_;
  bool fits_ = true;
};

}  // namespace

void read_layouts(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* element : all_below(root, "layout")) {
    add_named(context, &context.model.layouts, "layout", LayoutReader(context, *element).run(),
              Attributes(context, *element));
  }
}

// Reads <parameter>: its type, and its value if it has one.

namespace {

template <class Number>
bool read_number(const std::string& text, ParameterValue& value) {
  Number number{};
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-');
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(begin, end, number);
  value = number;
  return fault == std::errc{} && stop == end;
}

// False when the text is no value of the parameter's kind.
bool take_value(Parameter& parameter, const std::string& text) {
  switch (parameter.kind) {
    case Parameter::Kind::integer:
      return read_number<std::int64_t>(text, parameter.value);
    case Parameter::Kind::real:
      return read_number<double>(text, parameter.value);
    case Parameter::Kind::text:
      parameter.value = text;
      return true;
  }
  return false;
}

std::string expected(Parameter::Kind kind) {
  return kind == Parameter::Kind::integer
             ? "an int is a whole number of 64 bits, like 64; expressions are for layouts"
             : "a double is a number like 0.5 or 1e-3";
}

void read_parameter(ReadContext& context, const XmlElement& element) {
  const Attributes attributes(context, element);
  Parameter parameter;
  attributes.read_fields(&parameter);
  parameter.where = element.where;
  const XmlAttribute* value = attributes.given("value");
  if (value && attributes.given("type") && !take_value(parameter, value->value)) {
    context.error(value->where, "parameter \"" + parameter.name + "\": \"" + value->value +
                                    "\" is no " + attributes.text("type") + ": " +
                                    expected(parameter.kind));
  }
  add_named(context, &context.model.parameters, "parameter", std::move(parameter), attributes);
}

std::vector<std::string> names_of_reals(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& each : parameters) {
    if (each.kind == Parameter::Kind::real) names.push_back(each.name);
  }
  return names;
}

void read_time(ReadContext& context, const XmlElement& root) {
  const XmlElement element = only(context, root, "time");
  const Attributes attributes(context, element);
  const XmlAttribute* name = attributes.given("parameter");
  if (!name) return;
  const std::vector<Parameter>& parameters = context.model.parameters;
  const std::size_t index = index_of(parameters, name->value);
  if (index == parameters.size() || parameters[index].kind != Parameter::Kind::real) {
    context.error(name->where, "the time is no parameter of type double: \"" + name->value + "\"" +
                                   did_you_mean(name->value, names_of_reals(parameters)));
    return;
  }
  TimeAxis& time = context.model.time.emplace();
  attributes.read_fields(&time);
  time.parameter = static_cast<std::uint32_t>(index);
  if (const std::string why = why_no_date(time.unit, time.calendar); !why.empty())
    context.error(attributes.where("unit"), "the unit of the time, \"" + time.unit + "\": " + why);
}

}  // namespace

void read_parameters(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* each : all_below(root, "parameter")) read_parameter(context, *each);
  read_time(context, root);
}

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// Variables that the server makes of others, as expr="..." says: what they are made of, in which order, and of which shape they are.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/marks.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

bool is_number_type(ScalarType type) {
  return type != ScalarType::complex64 && type != ScalarType::complex128 &&
         type != ScalarType::character;
}

std::string shape_text(const Layout& layout) {
  std::string text;
  for (const Dimension& each : layout.dimensions)
    text += (text.empty() ? "" : ", ") + each.name + "=" + (each.varying ? "?" : each.extent.text);
  return "(" + text + ")";
}

class DerivedReader {
 public:
  explicit DerivedReader(ReadContext& context)
      : context_(context), model_(context.model), states_(context.to_derive.size(), State::new_) {}

  void run() {
    std::size_t read_so_far = 0;
    const auto read_new = [&] {
      states_.resize(context_.to_derive.size());
      for (; read_so_far < context_.to_derive.size(); ++read_so_far) read(read_so_far);
    };
    read_new();
    read_conditions(context_);
    read_new();  // what stands in those
    model_.conditions.resize(model_.periods.size());
    for (std::size_t i = 0; i < context_.to_derive.size(); ++i) settle(i);
    check_conditions(context_);
  }

 private:
  enum class State { new_, under_way, settled, refused };

  Variable& variable_of(std::size_t i) { return model_.variables[context_.to_derive[i].variable]; }

  void error(std::size_t i, const std::string& message) {
    states_[i] = State::refused;
    context_.error(context_.to_derive[i].expression.where,
                   "variable \"" + variable_of(i).name + "\": " + message);
  }

  // What the texts say.
  void read(std::size_t i) {
    const ToDerive& told = context_.to_derive[i];
    Derived& derived = *variable_of(i).derived;
    ParsedArrayExpression parsed = parse_array_expression(told.expression.text);
    if (!parsed.problem.empty())
      return error(i, "expr=\"" + told.expression.text + "\": " + parsed.problem);
    derived.expression = std::move(parsed.expression);
    read_inputs(i);
    read_period(i);
  }

  // What it asks for may be new, and is read later.
  void read_inputs(std::size_t i) {
    const ArrayExpression expression = variable_of(i).derived->expression;
    std::vector<Derived::Input> inputs;
    for (std::size_t n = 0; n < expression.names.size(); ++n) {
      std::optional<Derived::Input> input = input_of(i, expression.names[n]);
      if (input && !expression.along[n].empty())
        input = derivative_of(i, *input, expression.along[n]);
      if (input) inputs.push_back(*input);
    }
    variable_of(i).derived->inputs = std::move(inputs);
  }

  // A variable of its own: it is computed once, whoever asks for it.
  std::optional<Derived::Input> derivative_of(std::size_t i, const Derived::Input& of,
                                              const std::string& along) {
    if (of.is_parameter) {
      error(i, "\"" + model_.parameters[of.number].name +
                   "\" is a parameter: d(u, x) is of a variable, along one of its dimensions");
      return std::nullopt;
    }
    Variable variable;
    const std::string whose = model_.variables[of.number].name;
    variable.name = "d(" + whose + "," + along + ")";
    const std::size_t known = index_of(model_.variables, variable.name);
    if (known < model_.variables.size())
      return Derived::Input{false, static_cast<std::uint32_t>(known)};
    variable.where = context_.to_derive[i].expression.where;
    variable.derived.emplace();
    ToDerive told;
    told.variable = static_cast<std::uint32_t>(model_.variables.size());
    told.expression = {"'" + whose + "'", variable.where};
    told.along = along;
    context_.shapeless.insert(told.variable);
    context_.to_derive.push_back(std::move(told));
    model_.variables.push_back(std::move(variable));
    return Derived::Input{false, static_cast<std::uint32_t>(model_.variables.size() - 1)};
  }

  void read_period(std::size_t i) {
    const ToDerive& told = context_.to_derive[i];
    Derived& derived = *variable_of(i).derived;
    if (told.every.text.empty() && derived.is_over_time())
      return error(i, std::string("operation=\"") + word_of(derived.operation) +
                          "\" is over a period: say how long, as every=\"10\"");
    const std::optional<std::uint32_t> period =
        period_of(context_, "variable \"" + variable_of(i).name + "\"", told.every, told.when);
    if (!period) {
      states_[i] = State::refused;
      return;
    }
    derived.period = *period;
    if (derived.is_over_time() && !told.when.text.empty())
      return error(i,
                   std::string("operation=\"") + word_of(derived.operation) +
                       "\" is over whole periods, and when=\"...\" is for single iterations: take "
                       "one of them away");
    if (!told.reduce.text.empty()) read_reduction(i);
    const Every::Clock clock = model_.periods[*period].clock;
    if (derived.is_over_time() && clock != Every::Clock::iterations &&
        clock != Every::Clock::simulation)
      error(i, std::string("operation=\"") + word_of(derived.operation) +
                   "\" is over periods of iterations or of the simulation's time, and every=\"" +
                   told.every.text + "\" is none");
  }

  void read_reduction(std::size_t i) {
    const ToDerive& told = context_.to_derive[i];
    Derived& derived = *variable_of(i).derived;
    Result<SpaceReduction> parsed = parse_space_reduction(told.reduce.text);
    if (!parsed) return refuse_reduction(i, parsed.error().message);
    derived.reduction = std::move(*parsed);
    if (derived.is_over_time())
      refuse_reduction(i, std::string("operation=\"") + word_of(derived.operation) +
                              "\" of it is of a second variable: <variable name=\"...\" expr=\"'" +
                              variable_of(i).name + "'\" operation=\"" +
                              word_of(derived.operation) + "\" every=\"...\"/>");
  }

  void refuse_reduction(std::size_t i, const std::string& why) {
    states_[i] = State::refused;
    const Said& said = context_.to_derive[i].reduce;
    context_.error(said.where, "variable \"" + variable_of(i).name + "\": reduce=\"" + said.text +
                                   "\": " + why);
  }

  std::optional<Derived::Input> input_of(std::size_t i, const std::string& name) {
    const std::string& group = context_.to_derive[i].group;
    for (const std::string& full : {group + name, name}) {
      const std::size_t index = index_of(model_.variables, full);
      if (index < model_.variables.size())
        return Derived::Input{false, static_cast<std::uint32_t>(index)};
    }
    const std::size_t index = index_of(model_.parameters, name);
    if (index == model_.parameters.size()) {
      std::vector<std::string> known = names_of(model_.variables);
      for (const std::string& each : names_of(model_.parameters)) known.push_back(each);
      std::erase(known, variable_of(i).name);
      error(i, "\"" + name + "\" in expr=\"" + context_.to_derive[i].expression.text +
                   "\" is no variable and no parameter" + hint_of(name, known));
      return std::nullopt;
    }
    if (model_.parameters[index].kind == ParameterKind::text)
      error(i, "the parameter \"" + name + "\" is a text, and no number");
    return Derived::Input{true, static_cast<std::uint32_t>(index)};
  }

  // Names with a "/" are taken for a division.
  static std::string hint_of(const std::string& name, const std::vector<std::string>& known) {
    for (const std::string& each : known) {
      if (each.starts_with(name + "/") || each.starts_with(name + ".") ||
          each.starts_with(name + "-"))
        return "; a name with other signs than letters, digits and _ stands in quotes: '" + each +
               "'";
    }
    return did_you_mean(name, known);
  }

  // What it is made of comes first.
  void settle(std::size_t i) {
    if (states_[i] != State::new_) return;
    states_[i] = State::under_way;
    for (const Derived::Input& input : needed_by(i)) {
      if (input.is_parameter || !model_.variables[input.number].derived) continue;
      const std::size_t other = number_of(input.number);
      if (states_[other] == State::under_way) return refuse_circle(other);
      settle(other);
      if (states_[i] == State::refused) return;
      if (states_[other] == State::refused) {
        states_[i] = State::refused;  // why, was said of the other one
        return;
      }
    }
    give_shape(i);
    if (states_[i] == State::refused) return;
    states_[i] = State::settled;
    context_.shapeless.erase(context_.to_derive[i].variable);
    model_.derived_order.push_back(context_.to_derive[i].variable);
  }

  // What it is made of, and what says when.
  std::vector<Derived::Input> needed_by(std::size_t i) {
    const Derived& derived = *variable_of(i).derived;
    std::vector<Derived::Input> all = derived.inputs;
    const std::optional<Condition>& condition = model_.conditions[derived.period];
    for (const Condition::Input& each :
         condition ? condition->inputs : std::vector<Condition::Input>()) {
      if (each.kind == Condition::Kind::variable) all.push_back({false, each.number});
    }
    return all;
  }

  std::size_t number_of(std::uint32_t variable) const {
    std::size_t i = 0;
    while (context_.to_derive[i].variable != variable) ++i;
    return i;
  }

  void refuse_circle(std::size_t first) {
    std::string names;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i] != State::under_way) continue;
      names += (names.empty() ? "\"" : ", \"") + variable_of(i).name + "\"";
      states_[i] = State::refused;
    }
    error(first, "it is made of itself, by way of " + names);
  }

  // That of the input with the most dimensions, which the others have, too, or lack.
  void give_shape(std::size_t i) {
    Variable& variable = variable_of(i);
    const Variable* main = nullptr;
    bool varies = false;
    for (const Derived::Input& input : variable.derived->inputs) {
      if (input.is_parameter) continue;
      const Variable& each = model_.variables[input.number];
      if (context_.shapeless.count(input.number) > 0) {
        states_[i] = State::refused;  // that was said
        return;
      }
      varies = varies || each.time_varying;
      if (!is_number_type(layout_of(each).type))
        return error(i, "\"" + each.name + "\" has elements of type " +
                            scalar_name(layout_of(each).type) + ", which are no real numbers");
      if (!main || layout_of(each).dimensions.size() > layout_of(*main).dimensions.size())
        main = &each;
    }
    if (!main)
      return error(i, "there is no variable in expr=\"" + variable.derived->expression.text + "\"");
    if (!varies)
      return error(
          i,
          "all that it is made of has time-varying=\"false\": so it would have a value once only");
    for (const Derived::Input& input : variable.derived->inputs) {
      if (!input.is_parameter) expect_fit(i, model_.variables[input.number], *main);
    }
    if (states_[i] == State::refused) return;
    variable.derived->main = static_cast<std::uint32_t>(main - model_.variables.data());
    warn_of_seldom_inputs(i);
    take_after(i, *main);
  }

  const Layout& layout_of(const Variable& variable) const {
    return model_.layouts[variable.layout];
  }

  void expect_fit(std::size_t i, const Variable& other, const Variable& main) {
    const Layout &a = layout_of(main), &b = layout_of(other);
    const auto refuse = [&] {
      error(i, "the shapes of \"" + main.name + "\", " + shape_text(a) + ", and \"" + other.name +
                   "\", " + shape_text(b) + ", do not go together");
    };
    const bool same_rank = a.dimensions.size() == b.dimensions.size();
    const auto is_named = [](const Layout& layout, std::size_t d) {
      return layout.dimensions[d].name != layout.name + "_" + std::to_string(d);
    };
    for (std::size_t d = 0; d < b.dimensions.size(); ++d) {
      const Dimension& own = b.dimensions[d];
      auto found = a.dimensions.begin() + static_cast<std::ptrdiff_t>(d);
      if (!same_rank)
        found = std::find_if(a.dimensions.begin(), a.dimensions.end(),
                             [&](const Dimension& each) { return each.name == own.name; });
      if (found == a.dimensions.end()) return refuse();
      // Names that somebody has given say what is along what.
      if (same_rank && is_named(a, d) && is_named(b, d) && found->name != own.name) return refuse();
      const std::optional<std::int64_t> here = interior(*found), there = interior(own);
      if (here && there && *here != *there) return refuse();
      if (found->ghost_low != own.ghost_low || found->ghost_high != own.ghost_high)
        variable_of(i).derived->selection.resize(a.dimensions.size());  // all of it, without ghosts
    }
  }

  // Without ghosts.
  std::optional<std::int64_t> interior(const Dimension& dimension) const {
    if (dimension.extent.program.empty()) return std::nullopt;
    const ExpressionValue value = IntegerValues(model_.parameters).evaluate(dimension.extent);
    if (value.fault != ExpressionFault::none) return std::nullopt;
    return value.value - dimension.ghost_low - dimension.ghost_high;
  }

  void take_after(std::size_t i, const Variable& main) {
    const ToDerive& told = context_.to_derive[i];
    Variable& variable = variable_of(i);
    const Operation operation = variable.derived->operation;
    const bool is_same = variable.derived->expression.is_name() && told.along.empty();
    if (!told.along.empty()) settle_derivative(i, main);
    if (operation != Operation::instant && main.mesh &&
        model_.meshes[*main.mesh].kind == MeshKind::amr)
      return error(i, "\"" + main.name + "\" lies on the amr mesh \"" +
                          model_.meshes[*main.mesh].name +
                          "\", whose blocks come and go: nothing is over time there");
    if (!told.has_mesh) variable.mesh = main.mesh;
    if (!told.has_centering) variable.centering = main.centering;
    settle_unit(i);
    if (states_[i] == State::refused) return;
    if (is_same && variable.description.empty()) variable.description = main.description;
    if (is_same && variable.standard_name.empty() && operation != Operation::variance)
      variable.standard_name = main.standard_name;
    if (told.along.empty()) add_cell_method(&variable, main);
    variable.definition = definition_of(i);
    const bool is_exact =
        layout_of(main).type != ScalarType::int64 && layout_of(main).type != ScalarType::uint64;
    const bool keeps_type =
        is_same && variable.derived->change.is_none() && keeps_values(*variable.derived) &&
        (operation == Operation::instant ||
         (is_exact && (operation == Operation::minimum || operation == Operation::maximum)));
    const ScalarType as_made = keeps_type ? layout_of(main).type : ScalarType::float64;
    ScalarType type = as_made;
    if (variable.derived->store_type) type = *variable.derived->store_type;
    if (!is_number_type(type))
      return error(i, "store-type is a type of real numbers or of integers");
    switch (read_storing(context_, told, type)) {
      case StoringResult::refused:
        states_[i] = State::refused;
        break;
      case StoringResult::by_the_store:
        type = as_made;
        break;
      case StoringResult::as_it_is:
        break;
    }
    const std::uint32_t whole = main.layout;
    if (!told.select.text.empty()) read_selection(i, whole);
    if (variable.derived->reduction) settle_reduction(i, main);
    if (states_[i] == State::refused) return;
    variable.layout = variable.derived->selection.empty() ? layout_like(whole, type, variable.name)
                                                          : selected_layout(i, whole, type);
  }

  // What is left has no ghosts: they have no neighbours.
  void settle_derivative(std::size_t i, const Variable& main) {
    const std::string& along = context_.to_derive[i].along;
    Derived& derived = *variable_of(i).derived;
    const Layout& layout = layout_of(main);
    const std::size_t d = index_of(layout.dimensions, along);
    const std::string what = "d(" + main.name + ", " + along + "): ";
    if (d == layout.dimensions.size())
      return error(i, what + "\"" + main.name + "\" has no dimension \"" + along + "\"" +
                          did_you_mean(along, names_of(layout.dimensions)));
    if (!layout.has_global || (main.mesh && model_.meshes[*main.mesh].kind == MeshKind::amr))
      return error(i, what + "what is beside a block is known only where the layout of \"" +
                          main.name + "\" says global=\"...\", and on no amr mesh");
    derived.along = static_cast<std::uint32_t>(d);
    derived.selection.resize(layout.dimensions.size());
  }

  // With what it is made of: a file may have this one alone.
  std::string definition_of(std::size_t i) {
    std::vector<std::uint32_t> all;
    std::string text = own_definition(i);
    add_inputs(i, &all);
    for (const std::uint32_t each : all)
      text += "; " + model_.variables[each].name + ": " + own_definition(number_of(each));
    return text;
  }

  void add_inputs(std::size_t i, std::vector<std::uint32_t>* all) {
    for (const Derived::Input& each : variable_of(i).derived->inputs) {
      const bool is_new =
          !each.is_parameter && std::count(all->begin(), all->end(), each.number) == 0;
      if (!is_new || !model_.variables[each.number].derived) continue;
      all->push_back(each.number);
      add_inputs(number_of(each.number), all);
    }
  }

  std::string own_definition(std::size_t i) {
    const ToDerive& told = context_.to_derive[i];
    const Derived& derived = *variable_of(i).derived;
    std::string text = told.expression.text;
    if (!told.along.empty()) text = "d(" + text + ", " + told.along + ")";
    const auto add = [&text](const char* what, const std::string& said) {
      if (!said.empty()) text += std::string(", ") + what + " " + said;
    };
    add("select", told.select.text);
    add("reduce", told.reduce.text);
    add("operation", derived.is_over_time() ? word_of(derived.operation) : "");
    add("every", told.every.text);
    add("when", told.when.text);
    add("unit-out", told.unit_out.text);
    add("keep-bits", told.keep_bits.text);
    add("scale", told.scale.text);
    add("offset", told.offset.text);
    return text;
  }

  // What is over a period exists in its last iteration alone.
  void warn_of_seldom_inputs(std::size_t i) {
    const Derived& own = *variable_of(i).derived;
    for (const Derived::Input& each : own.inputs) {
      if (each.is_parameter || !model_.variables[each.number].derived) continue;
      const Derived& its = *model_.variables[each.number].derived;
      const bool is_each = iterations_of(model_.periods[own.period]) == 1;
      if (its.is_over_time() && !own.is_over_time() && !is_each)
        warn(i,
             "\"" + model_.variables[each.number].name +
                 "\" has a value in the last iteration of each of its periods alone, and every=\"" +
                 context_.to_derive[i].every.text + "\" may never meet one: leave every out");
    }
  }

  static bool keeps_values(const Derived& derived) {
    return !derived.reduction || derived.reduction->operation == SpaceOperation::minimum ||
           derived.reduction->operation == SpaceOperation::maximum;
  }

  // What is reduced has been selected before: all of it without ghosts, where nothing else is said.
  void settle_reduction(std::size_t i, const Variable& main) {
    Variable& variable = variable_of(i);
    Derived& derived = *variable.derived;
    const std::vector<Dimension>& dimensions = layout_of(main).dimensions;
    if (derived.selection.empty()) derived.selection.resize(dimensions.size());
    std::vector<std::string>& along = derived.reduction->along;
    for (const std::string& each : along) {
      const std::size_t d = index_of(dimensions, each);
      if (d == dimensions.size() || derived.selection[d].is_one)
        return refuse_reduction(
            i, "there is no dimension \"" + each + "\"" + did_you_mean(each, names_of(dimensions)));
    }
    std::string names;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      if (derived.selection[d].is_one) continue;
      const bool is_taken =
          along.empty() || std::count(along.begin(), along.end(), dimensions[d].name) > 0;
      derived.is_reduced.push_back(is_taken);
      if (is_taken) names += dimensions[d].name + ": ";
    }
    const bool is_whole = std::count(derived.is_reduced.begin(), derived.is_reduced.end(), 0) == 0;
    if (!is_whole && !layout_of(main).has_global)
      return refuse_reduction(
          i, "what is left has a place in the whole only where the layout of \"" + main.name +
                 "\" says global=\"...\"");
    const SpaceOperation operation = derived.reduction->operation;
    const bool adds = operation == SpaceOperation::mean || operation == SpaceOperation::sum;
    if (adds && main.mesh && model_.meshes[*main.mesh].kind == MeshKind::amr)
      return refuse_reduction(i, "levels of the amr mesh \"" + model_.meshes[*main.mesh].name +
                                     "\" lie over each other: their values cannot be added up");
    variable.mesh.reset();
    add_space_method(&variable, names);
  }

  // Source: CF Conventions 1.8, section 7.3.
  static void add_space_method(Variable* variable, const std::string& names) {
    static const std::pair<SpaceOperation, const char*> kMethods[] = {
        {SpaceOperation::mean, "mean"},
        {SpaceOperation::minimum, "minimum"},
        {SpaceOperation::maximum, "maximum"},
        {SpaceOperation::sum, "sum"}};
    for (const auto& [operation, method] : kMethods) {
      if (operation != variable->derived->reduction->operation || names.empty()) continue;
      variable->cell_methods += (variable->cell_methods.empty() ? "" : " ") + names + method;
    }
  }

  void read_selection(std::size_t i, std::uint32_t whole) {
    const ToDerive& told = context_.to_derive[i];
    Variable& variable = variable_of(i);
    const auto refuse = [&](const std::string& why) {
      states_[i] = State::refused;
      refuse_selection(context_, variable, told.select, why);
    };
    const Result<std::vector<SelectedDimension>> parsed = parse_selection(told.select.text);
    if (!parsed) return refuse(parsed.error().message);
    const std::vector<Dimension>& dimensions = model_.layouts[whole].dimensions;
    std::vector<Selected> all(dimensions.size());
    for (SelectedDimension each : *parsed) {
      const std::size_t d = index_of(dimensions, each.name);
      if (d == dimensions.size())
        return refuse("there is no dimension \"" + each.name + "\"" +
                      did_you_mean(each.name, names_of(dimensions)));
      if (!each.places.empty()) {
        const std::string why = place_selected(context_, told, d, &each);
        if (!why.empty()) return refuse(why);
      }
      const std::optional<std::int64_t> length =
          whole_extent(IntegerValues(model_.parameters), model_.layouts[whole], d);
      if (each.places.size() == 2) {
        each.what.end = std::min(*each.what.end, length.value_or(INT64_MAX));
        if (*each.what.end <= each.what.first)
          return refuse("there is nothing between these coordinates");
      }
      const std::int64_t last = each.what.end ? *each.what.end - 1 : each.what.first;
      if (length && last >= *length && !each.what.place)
        return refuse("the dimension \"" + each.name + "\" has indices 0 to " +
                      std::to_string(*length - 1));
      all[d] = each.what;
    }
    variable.derived->selection = std::move(all);
    // Places of the mesh are those of the whole.
    variable.mesh.reset();
  }

  std::uint32_t selected_layout(std::size_t i, std::uint32_t whole, ScalarType type) {
    const Variable& variable = variable_of(i);
    Layout layout = model_.layouts[whole];
    layout.name = variable.name;
    layout.type = type;
    layout.dimensions.clear();
    std::size_t kept = 0;
    for (std::size_t d = 0; d < model_.layouts[whole].dimensions.size(); ++d) {
      const Selected& part = variable.derived->selection[d];
      if (part.is_one) continue;
      const std::vector<std::uint8_t>& is_reduced = variable.derived->is_reduced;
      if (kept < is_reduced.size() && is_reduced[kept++] != 0) continue;
      Dimension dimension = model_.layouts[whole].dimensions[d];
      const std::int64_t ghosts = dimension.ghost_low + dimension.ghost_high;
      dimension.ghost_low = dimension.ghost_high = 0;
      if (part.is_all() && ghosts > 0 && !dimension.varying)
        dimension.extent =
            expression_of("(" + dimension.extent.text + ")-" + std::to_string(ghosts));
      if (!part.is_all()) {
        // Blocks have what lies in them; the server says how much that is.
        dimension.varying = false;
        if (layout.has_global) dimension.global = selected_length(dimension.global, part);
        dimension.extent = selected_length(dimension.extent, part);
        dimension.name = variable.name.substr(variable.name.rfind('/') + 1) + "_" + dimension.name;
      }
      layout.dimensions.push_back(std::move(dimension));
    }
    if (variable.derived->reduction) layout.blocks = 1;
    model_.layouts.push_back(std::move(layout));
    return static_cast<std::uint32_t>(model_.layouts.size() - 1);
  }

  Expression selected_length(const Expression& whole, const Selected& part) const {
    const std::string end = part.end ? std::to_string(*part.end) : "(" + whole.text + ")";
    const std::string text = "(" + end + "-" + std::to_string(part.first) + "+" +
                             std::to_string(part.step - 1) + ")/" + std::to_string(part.step);
    return expression_of(text);
  }

  Expression expression_of(const std::string& text) const {
    return {text, parse_expression(text, model_.parameters).program};
  }

  // What is written in the XML counts; what the units of the inputs make of it, where nothing is.
  void settle_unit(std::size_t i) {
    const ToDerive& told = context_.to_derive[i];
    Variable& variable = variable_of(i);
    Derived& derived = *variable.derived;
    std::vector<std::string> units;
    for (const Derived::Input& each : derived.inputs)
      units.push_back(each.is_parameter ? "" : model_.variables[each.number].unit);
    if (!units_) units_ = std::make_unique<PhysicalUnits>();
    if (derived.along) return settle_unit_of_derivative(i);
    UnitFinding found = units_->of(derived.expression, units);
    if (!found.problem.empty()) warn(i, "expr=\"" + told.expression.text + "\": " + found.problem);
    if (derived.expression.is_name()) found.unit = units[0];
    if (derived.operation == Operation::variance && !found.unit.empty())
      found.unit = "(" + found.unit + ")2";
    if (!told.has_unit) variable.unit = found.unit;
    if (told.has_unit && !found.unit.empty()) compare_units(i, found.unit);
    if (!told.unit_out.text.empty()) convert(i);
  }

  void settle_unit_of_derivative(std::size_t i) {
    Variable& variable = variable_of(i);
    const Derived& derived = *variable.derived;
    const Result<Axis> axis = axis_along(model_, derived.main, *derived.along);
    if (!axis) return error(i, context_.to_derive[i].expression.text + ": " + axis.error().message);
    const std::string of = model_.variables[derived.main].unit;
    const std::string unit = "(" + (of.empty() ? "1" : of) + ")/(" + axis->unit + ")";
    if (!axis->unit.empty() && units_->is_unit(unit)) variable.unit = units_->text_of(unit);
  }

  void compare_units(std::size_t i, const std::string& comes_to) {
    const std::string& said = variable_of(i).unit;
    if (!units_->is_unit(said) || !units_->is_unit(comes_to)) return;
    const std::optional<UnitChange> change = units_->change(comes_to, said);
    if (change && std::fabs(change->scale - 1) < 1e-12 && std::fabs(change->offset) < 1e-12) return;
    warn(i, "unit=\"" + said + "\", and expr=\"" + context_.to_derive[i].expression.text +
                "\" comes to \"" + comes_to +
                (change ? "\": nothing is converted; write unit-out=\"" + said +
                              "\" in place of unit to have it so"
                        : "\", which is of another quantity"));
  }

  void convert(std::size_t i) {
    const ToDerive& told = context_.to_derive[i];
    Variable& variable = variable_of(i);
    const Operation operation = variable.derived->operation;
    std::string from = variable.unit;
    if (from.empty())
      return refuse_unit(i, "the unit of expr=\"" + told.expression.text +
                                "\" is not known: say it with unit=\"...\"");
    std::optional<UnitChange> change = units_->change(from, told.unit_out.text);
    if (!change && operation == Operation::variance)
      change = units_->change(from, "(" + told.unit_out.text + ")2");
    if (!change)
      return refuse_unit(i, "\"" + from + "\" is not converted to \"" + told.unit_out.text +
                                "\" by UDUNITS: they are no units, or of different quantities");
    if (change->offset != 0 && operation == Operation::accumulate)
      return refuse_unit(i, "a sum in \"" + from + "\" is none in \"" + told.unit_out.text +
                                "\", which begins elsewhere");
    if (operation == Operation::variance) change->offset = 0;
    variable.derived->change = *change;
    variable.unit = told.unit_out.text;
  }

  void refuse_unit(std::size_t i, const std::string& why) {
    states_[i] = State::refused;
    context_.error(context_.to_derive[i].unit_out.where,
                   "variable \"" + variable_of(i).name + "\": unit-out: " + why);
  }

  void warn(std::size_t i, const std::string& message) {
    context_.out.warning(context_.to_derive[i].expression.where,
                         "variable \"" + variable_of(i).name + "\": " + message);
  }

  // Source: CF Conventions 1.8, section 7.3 and appendix E.
  void add_cell_method(Variable* variable, const Variable& main) {
    static const std::pair<Operation, const char*> kMethods[] = {{Operation::mean, "mean"},
                                                                 {Operation::minimum, "minimum"},
                                                                 {Operation::maximum, "maximum"},
                                                                 {Operation::accumulate, "sum"},
                                                                 {Operation::variance, "variance"}};
    if (!variable->cell_methods.empty()) return;
    if (variable->derived->expression.is_name()) variable->cell_methods = main.cell_methods;
    for (const auto& [operation, method] : kMethods) {
      if (operation != variable->derived->operation) continue;
      const std::string before = variable->cell_methods.empty() ? "" : variable->cell_methods + " ";
      variable->cell_methods = before + (model_.time ? "time: " : "iteration: ") + method;
    }
  }

  std::uint32_t layout_like(std::uint32_t number, ScalarType type, const std::string& name) {
    if (model_.layouts[number].type == type) return number;
    Layout layout = model_.layouts[number];
    layout.name = name;
    layout.type = type;
    model_.layouts.push_back(std::move(layout));
    return static_cast<std::uint32_t>(model_.layouts.size() - 1);
  }

  ReadContext& context_;
  Model& model_;
  std::vector<State> states_;
  std::unique_ptr<PhysicalUnits> units_;
};

}  // namespace

std::optional<std::uint32_t> period_of(ReadContext& context, const std::string& who,
                                       const Said& said, const Said& when) {
  const auto refuse = [&](const std::string& why) -> std::optional<std::uint32_t> {
    context.error(said.where, who + ": every=\"" + said.text + "\": " + why);
    return std::nullopt;
  };
  Result<Every> every = parse_every(said.text.empty() ? "1" : said.text);
  if (!every) return refuse(every.error().message);
  if (every->clock == Every::Clock::last)
    return refuse("which iteration is the last is known when the run is over");
  const std::optional<TimeAxis>& time = context.model.time;
  if (every->clock == Every::Clock::simulation) {
    if (!time)
      return refuse(
          "the simulation says no time: write <time parameter=\"...\"/> into <data>, or give a "
          "number of iterations");
    const std::string why = why_no_marks(*every, Calendar(time->unit, time->calendar));
    if (!why.empty()) return refuse(why);
  }
  every->condition = when.text;
  std::vector<Every>& all = context.model.periods;
  const auto found = std::find(all.begin(), all.end(), *every);
  const auto number = static_cast<std::uint32_t>(found - all.begin());
  if (found == all.end()) all.push_back(*every);
  if (!when.text.empty()) context.conditions.push_back({number, when, who});
  return number;
}

void read_derived(ReadContext& context) { DerivedReader(context).run(); }

}  // namespace leat::model

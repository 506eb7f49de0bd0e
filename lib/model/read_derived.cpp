// SPDX-License-Identifier: Apache-2.0
#include "lib/model/read_derived.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"

namespace leat::model {
namespace {

// What the texts of one say. It may ask for others, which are read later.
class DerivedTexts {
 public:
  DerivedTexts(ReadContext& context, ToDerive& told)
      : context_(context), model_(context.model), told_(told) {}

  void read() {
    ParsedArrayExpression parsed = parse_array_expression(told_.expression.text);
    if (!parsed.problem.empty())
      return refuse("expr=\"" + told_.expression.text + "\": " + parsed.problem);
    derived().expression = std::move(parsed.expression);
    read_inputs();
    read_period();
  }

 private:
  // Others are added to the variables meanwhile: so neither is held.
  Variable& variable() { return variable_of(context_, told_); }
  Derived& derived() { return *variable().derived; }
  void refuse(const std::string& why) { refuse_derived(context_, told_, why); }

  void read_inputs() {
    const ArrayExpression expression = derived().expression;
    std::vector<Derived::Input> inputs;
    for (std::size_t n = 0; n < expression.names.size(); ++n) {
      std::optional<Derived::Input> input = input_of(expression.names[n]);
      if (input && expression.along[n].is_any()) input = of_neighbours(*input, expression.along[n]);
      if (input) inputs.push_back(*input);
    }
    derived().inputs = std::move(inputs);
  }

  std::optional<Derived::Input> input_of(const std::string& name) {
    for (const std::string& full : {told_.group + name, name}) {
      const std::size_t index = index_of(model_.variables, full);
      if (index < model_.variables.size())
        return Derived::Input{false, static_cast<std::uint32_t>(index)};
    }
    const std::size_t index = index_of(model_.parameters, name);
    if (index == model_.parameters.size()) {
      refuse("\"" + name + "\" in expr=\"" + told_.expression.text +
             "\" is no variable and no parameter" + hint_of(name));
      return std::nullopt;
    }
    if (model_.parameters[index].kind == ParameterKind::text)
      refuse("the parameter \"" + name + "\" is a text, and no number");
    return Derived::Input{true, static_cast<std::uint32_t>(index)};
  }

  // Names with a "/" are taken for a division.
  std::string hint_of(const std::string& name) {
    std::vector<std::string> known = names_of(model_.variables);
    for (const std::string& each : names_of(model_.parameters)) known.push_back(each);
    std::erase(known, variable().name);
    for (const std::string& each : known) {
      if (each.starts_with(name + "/") || each.starts_with(name + ".") ||
          each.starts_with(name + "-"))
        return "; a name with other signs than letters, digits and _ stands in quotes: '" + each +
               "'";
    }
    return did_you_mean(name, known);
  }

  // A variable of its own: it is computed once, whoever asks for it.
  std::optional<Derived::Input> of_neighbours(const Derived::Input& of, const Along& along) {
    if (of.is_parameter) {
      const std::string name = model_.parameters[of.number].name;
      refuse("\"" + name + "\" is a parameter: " + along.text_of(name) +
             " is of a variable, along one of its dimensions");
      return std::nullopt;
    }
    Variable made;
    const std::string whose = model_.variables[of.number].name;
    made.name = along.text_of(whose, ",");
    const std::size_t known = index_of(model_.variables, made.name);
    if (known < model_.variables.size())
      return Derived::Input{false, static_cast<std::uint32_t>(known)};
    made.where = told_.expression.where;
    made.derived.emplace();
    ToDerive its;
    its.variable = static_cast<std::uint32_t>(model_.variables.size());
    its.expression = {"'" + whose + "'", made.where};
    its.along = along;
    context_.shapeless.insert(its.variable);
    context_.to_derive.push_back(std::move(its));
    model_.variables.push_back(std::move(made));
    return Derived::Input{false, static_cast<std::uint32_t>(model_.variables.size() - 1)};
  }

  void read_period() {
    const std::string operation =
        std::string("operation=\"") + word_of(derived().operation) + "\" is over ";
    const bool is_over_time = derived().is_over_time();
    if (told_.every.text.empty() && is_over_time)
      return refuse(operation + "a period: say how long, as every=\"10\"");
    const std::optional<std::uint32_t> period =
        period_of(context_, "variable \"" + variable().name + "\"", told_.every, told_.when, true);
    if (!period) {
      told_.state = ToDerive::State::refused;
      return;
    }
    derived().period = *period;
    if (is_at_end(model_.periods[*period])) return read_end(operation);
    if (is_over_time && !told_.when.text.empty())
      return refuse(operation +
                    "whole periods, and when=\"...\" is for single iterations: take one of them "
                    "away");
    if (!told_.reduce.text.empty()) read_reduction();
    const Every::Clock clock = model_.periods[*period].clock;
    if (is_over_time && clock != Every::Clock::iterations && clock != Every::Clock::simulation)
      refuse(operation + "periods of iterations or of the simulation's time, and every=\"" +
             told_.every.text + "\" is none");
  }

  // The value that came last is kept as what is over a period is: the run may be over with any iteration.
  void read_end(const std::string& operation) {
    const bool is_last = model_.periods[derived().period].clock == Every::Clock::last;
    const std::string own = "every=\"" + told_.every.text + "\"";
    const std::string said =
        is_last ? own : std::string("operation=\"") + word_of(derived().operation) + "\" " + own;
    if (is_last && derived().is_over_time())
      return refuse(operation +
                    "a period, and every=\"last\" is a moment: every=\"run\" is the whole run");
    if (!is_last && !derived().is_over_time())
      return refuse(
          own +
          " is a period, of an operation like \"mean\": every=\"last\" is its last iteration");
    if (!told_.when.text.empty())
      return refuse(
          own + " is no single iteration in which when=\"...\" may hold: take one of them away");
    if (!told_.reduce.text.empty())
      return refuse_reduction(
          context_, told_,
          own + " of it is of a second variable: <variable name=\"...\" expr=\"'" +
              variable().name + "'\" " + said + "/>");
    if (is_last) derived().operation = Operation::latest;
  }

  void read_reduction() {
    Result<SpaceReduction> parsed = parse_space_reduction(told_.reduce.text);
    if (!parsed) return refuse_reduction(context_, told_, parsed.error().message);
    derived().reduction = std::move(*parsed);
    const std::string operation = std::string("operation=\"") + word_of(derived().operation) + "\"";
    if (derived().is_over_time())
      refuse_reduction(context_, told_,
                       operation +
                           " of it is of a second variable: <variable name=\"...\" expr=\"'" +
                           variable().name + "'\" " + operation + " every=\"...\"/>");
  }

  ReadContext& context_;
  Model& model_;
  ToDerive& told_;
};

// What one is made of, and what says when.
std::vector<Derived::Input> needed_by(ReadContext& context, const ToDerive& told) {
  const Derived& derived = *variable_of(context, told).derived;
  std::vector<Derived::Input> all = derived.inputs;
  const std::optional<Condition>& condition = context.model.conditions[derived.period];
  for (const Condition::Input& each :
       condition ? condition->inputs : std::vector<Condition::Input>()) {
    if (each.kind == Condition::Kind::variable) all.push_back({false, each.number});
  }
  return all;
}

void refuse_circle(ReadContext& context, ToDerive& first) {
  std::string names;
  for (ToDerive& each : context.to_derive) {
    if (each.state != ToDerive::State::under_way) continue;
    names += (names.empty() ? "\"" : ", \"") + variable_of(context, each).name + "\"";
    each.state = ToDerive::State::refused;
  }
  refuse_derived(context, first, "it is made of itself, by way of " + names);
}

// What it is made of comes first.
void settle_in_order(ReadContext& context, ToDerive& told) {
  if (told.state != ToDerive::State::read) return;
  told.state = ToDerive::State::under_way;
  for (const Derived::Input& input : needed_by(context, told)) {
    if (input.is_parameter || !context.model.variables[input.number].derived) continue;
    ToDerive& other = to_derive(context, input.number);
    if (other.state == ToDerive::State::under_way) return refuse_circle(context, other);
    settle_in_order(context, other);
    if (told.is_refused()) return;
    if (other.is_refused()) {
      told.state = ToDerive::State::refused;  // why, was said of the other one
      return;
    }
  }
  settle_derived(context, told);
  if (told.is_refused()) return;
  told.state = ToDerive::State::settled;
  context.shapeless.erase(told.variable);
  context.model.derived_order.push_back(told.variable);
}

}  // namespace

ToDerive& to_derive(ReadContext& context, std::uint32_t variable) {
  return *std::find_if(context.to_derive.begin(), context.to_derive.end(),
                       [&](const ToDerive& each) { return each.variable == variable; });
}

void refuse_derived(ReadContext& context, ToDerive& told, const std::string& why) {
  refuse_derived(context, told, told.expression, why);
}

void refuse_derived(ReadContext& context, ToDerive& told, const Said& said,
                    const std::string& why) {
  told.state = ToDerive::State::refused;
  context.error(said.where, "variable \"" + variable_of(context, told).name + "\": " + why);
}

void refuse_reduction(ReadContext& context, ToDerive& told, const std::string& why) {
  refuse_derived(context, told, told.reduce, "reduce=\"" + told.reduce.text + "\": " + why);
}

void warn_of_derived(ReadContext& context, const ToDerive& told, const std::string& what) {
  context.out.warning(told.expression.where,
                      "variable \"" + variable_of(context, told).name + "\": " + what);
}

std::string why_nothing_of_end(const Model& model, const Variable& variable) {
  return "\"" + variable.name + "\" has every=\"" +
         to_text(model.periods[variable.derived->period]) +
         "\", and is there when the run is over, in files alone: nothing is made of it. Name what "
         "it is made of";
}

void read_derived(ReadContext& context) {
  std::size_t read_so_far = 0;
  const auto read_new = [&] {
    for (; read_so_far < context.to_derive.size(); ++read_so_far)
      DerivedTexts(context, context.to_derive[read_so_far]).read();
  };
  read_new();
  read_conditions(context);
  read_new();  // what stands in those
  context.model.conditions.resize(context.model.periods.size());
  for (ToDerive& each : context.to_derive) settle_in_order(context, each);
  check_conditions(context);
}

}  // namespace leat::model

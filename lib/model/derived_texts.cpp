// SPDX-License-Identifier: Apache-2.0
// What files say of a variable that is made of others: how that was done.
#include <algorithm>
#include <string>
#include <vector>

#include "lib/model/read_derived.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

std::string own_definition(ReadContext& context, const ToDerive& told) {
  const Derived& derived = *variable_of(context, told).derived;
  std::string text = told.expression.text;
  text = told.along.text_of(text);
  const auto add = [&text](const char* what, const std::string& said) {
    if (!said.empty()) text += std::string(", ") + what + " " + said;
  };
  add("select", told.select.text);
  add("reduce", told.reduce.text);
  const bool has_operation = derived.is_over_time() && derived.operation != Operation::latest;
  add("operation", has_operation ? word_of(derived.operation) : "");
  add("every", told.every.text);
  add("when", told.when.text);
  add("unit-out", told.unit_out.text);
  add("keep-bits", told.keep_bits.text);
  add("scale", told.scale.text);
  add("offset", told.offset.text);
  return text;
}

void add_inputs(ReadContext& context, const ToDerive& told, std::vector<std::uint32_t>* all) {
  for (const Derived::Input& each : variable_of(context, told).derived->inputs) {
    const bool is_new =
        !each.is_parameter && std::count(all->begin(), all->end(), each.number) == 0;
    if (!is_new || !context.model.variables[each.number].derived) continue;
    all->push_back(each.number);
    add_inputs(context, to_derive(context, each.number), all);
  }
}

// With what it is made of: a file may have this one alone.
std::string definition_of(ReadContext& context, const ToDerive& told) {
  std::vector<std::uint32_t> all;
  std::string text = own_definition(context, told);
  add_inputs(context, told, &all);
  for (const std::uint32_t each : all)
    text += "; " + context.model.variables[each].name + ": " +
            own_definition(context, to_derive(context, each));
  return text;
}

// Source: CF Conventions 1.8, section 7.3 and appendix E.
void add_time_method(const Model& model, Variable* variable, const Variable& main) {
  if (!variable->cell_methods.empty()) return;
  if (variable->derived->expression.is_name()) variable->cell_methods = main.cell_methods;
  if (!variable->derived->is_over_time()) return;
  const std::string before = variable->cell_methods.empty() ? "" : variable->cell_methods + " ";
  variable->cell_methods = before + (model.time ? "time: " : "iteration: ") +
                           word_of(kCellMethods<Operation>, variable->derived->operation);
}

}  // namespace

void settle_texts(ReadContext& context, const ToDerive& told, const Variable& main) {
  Variable& variable = variable_of(context, told);
  const bool is_same = variable.derived->expression.is_name() && !told.along.is_any();
  if (is_same && variable.description.empty()) variable.description = main.description;
  if (is_same && variable.standard_name.empty() &&
      variable.derived->operation != Operation::variance)
    variable.standard_name = main.standard_name;
  if (!told.along.is_any()) add_time_method(context.model, &variable, main);
  variable.definition = definition_of(context, told);
}

// Source: CF Conventions 1.8, section 7.3.
void add_space_method(Variable* variable, const std::string& names) {
  if (names.empty()) return;
  variable->cell_methods +=
      (variable->cell_methods.empty() ? "" : " ") + names +
      word_of(kCellMethods<SpaceOperation>, variable->derived->reduction->operation);
}

}  // namespace leat::model

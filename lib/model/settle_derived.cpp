// SPDX-License-Identifier: Apache-2.0
// What a variable that is made of others is, by what it is made of: whose blocks it has, where it lies, and of which type it is.
#include <string>

#include "lib/model/read_derived.hpp"

namespace leat::model {
namespace {

bool is_number_type(ScalarType type) {
  return type != ScalarType::complex64 && type != ScalarType::complex128 &&
         type != ScalarType::character;
}

bool reduction_keeps_values(const Derived& derived) {
  return !derived.reduction || derived.reduction->operation == SpaceOperation::minimum ||
         derived.reduction->operation == SpaceOperation::maximum;
}

// Doubles, where values do not stay what they are.
ScalarType type_as_made(ReadContext& context, const ToDerive& told, const Variable& main) {
  const Derived& derived = *variable_of(context, told).derived;
  const Operation operation = derived.operation;
  const ScalarType type = layout_of(context.model, main).type;
  const bool is_exact = type != ScalarType::int64 && type != ScalarType::uint64;
  const bool keeps_type =
      derived.expression.is_name() && !derived.interpolates() && derived.change.is_none() &&
      reduction_keeps_values(derived) &&
      (operation == Operation::instant ||
       (is_exact && (operation == Operation::minimum || operation == Operation::maximum ||
                     operation == Operation::latest)));
  return keeps_type ? type : ScalarType::float64;
}

// What is over a period exists in its last iteration alone.
void warn_of_seldom_inputs(ReadContext& context, const ToDerive& told) {
  const Derived& own = *variable_of(context, told).derived;
  for (const Derived::Input& each : own.inputs) {
    if (each.is_parameter || !context.model.variables[each.number].derived) continue;
    const Derived& its = *context.model.variables[each.number].derived;
    const bool is_each = iterations_of(context.model.periods[own.period]) == 1;
    if (its.is_over_time() && !own.is_over_time() && !is_each)
      warn_of_derived(
          context, told,
          "\"" + context.model.variables[each.number].name +
              "\" has a value in the last iteration of each of its periods alone, and every=\"" +
              told.every.text + "\" may never meet one: leave every out");
  }
}

// One that is made of others is where the one is whose blocks it has, and of its type where values stay what they are.
void take_after(ReadContext& context, ToDerive& told, const Variable& main) {
  Variable& variable = variable_of(context, told);
  const Operation operation = variable.derived->operation;
  if (told.along.is_any()) settle_neighbours(context, told, main);
  if (told.is_refused()) return;
  if (operation != Operation::instant && main.mesh &&
      context.model.meshes[*main.mesh].kind == MeshKind::amr)
    return refuse_derived(context, told,
                          "\"" + main.name + "\" lies on the amr mesh \"" +
                              context.model.meshes[*main.mesh].name +
                              "\", whose blocks come and go: nothing is over time there");
  if (!told.has_mesh) variable.mesh = main.mesh;
  if (!told.has_centering) variable.centering = main.centering;
  settle_unit(context, told);
  if (told.is_refused()) return;
  settle_texts(context, told, main);
  if (!told.select.text.empty()) read_selection(context, told, layout_of(context.model, main));
  if (told.is_refused()) return;
  const ScalarType as_made = type_as_made(context, told, main);
  ScalarType type = as_made;
  if (variable.derived->store_type) type = *variable.derived->store_type;
  if (!is_number_type(type))
    return refuse_derived(context, told, "store-type is a type of real numbers or of integers");
  switch (read_storing(context, told, type)) {
    case StoringResult::refused:
      told.state = ToDerive::State::refused;
      break;
    case StoringResult::by_the_store:
      type = as_made;
      break;
    case StoringResult::as_it_is:
      break;
  }
  settle_layout(context, told, main, type);
}

}  // namespace

// Its shape is that of the input with the most dimensions, which the others have, too, or lack.
void settle_derived(ReadContext& context, ToDerive& told) {
  Variable& variable = variable_of(context, told);
  const Variable* main = nullptr;
  bool varies = false;
  for (const Derived::Input& input : variable.derived->inputs) {
    if (input.is_parameter) continue;
    const Variable& each = context.model.variables[input.number];
    if (context.shapeless.count(input.number) > 0) {
      told.state = ToDerive::State::refused;  // that was said
      return;
    }
    if (each.derived && is_at_end(context.model.periods[each.derived->period]))
      return refuse_derived(context, told, why_nothing_of_end(context.model, each));
    varies = varies || each.time_varying;
    if (!is_number_type(layout_of(context.model, each).type))
      return refuse_derived(context, told,
                            "\"" + each.name + "\" has elements of type " +
                                scalar_name(layout_of(context.model, each).type) +
                                ", which are no real numbers");
    if (!main || layout_of(context.model, each).dimensions.size() >
                     layout_of(context.model, *main).dimensions.size())
      main = &each;
  }
  if (!main)
    return refuse_derived(
        context, told,
        "there is no variable in expr=\"" + variable.derived->expression.text + "\"");
  if (!varies)
    return refuse_derived(
        context, told,
        "all that it is made of has time-varying=\"false\": so it would have a value once only");
  for (const Derived::Input& input : variable.derived->inputs) {
    if (!input.is_parameter)
      expect_same_shape(context, told, context.model.variables[input.number], *main);
  }
  if (told.is_refused()) return;
  variable.derived->main = static_cast<std::uint32_t>(main - context.model.variables.data());
  warn_of_seldom_inputs(context, told);
  take_after(context, told, *main);
}

}  // namespace leat::model

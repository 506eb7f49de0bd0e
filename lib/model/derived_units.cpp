// SPDX-License-Identifier: Apache-2.0
// Units of variables that are made of others: those of what they are made of, or those that unit="..." and unit-out="..." say.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/read_derived.hpp"

namespace leat::model {
namespace {

void refuse_unit(ReadContext& context, ToDerive& told, const std::string& why) {
  refuse_derived(context, told, told.unit_out, "unit-out: " + why);
}

void settle_unit_of_derivative(ReadContext& context, ToDerive& told) {
  Variable& variable = variable_of(context, told);
  const Derived& derived = *variable.derived;
  const Result<Axis> axis = axis_along(context.model, derived.main, *derived.along);
  if (!axis)
    return refuse_derived(context, told, told.expression.text + ": " + axis.error().message);
  const std::string of = context.model.variables[derived.main].unit;
  const std::string unit = "(" + (of.empty() ? "1" : of) + ")/(" + axis->unit + ")";
  const PhysicalUnits& known = context.physical_units();
  if (!axis->unit.empty() && known.is_unit(unit)) variable.unit = known.text_of(unit);
}

void compare_units(ReadContext& context, const ToDerive& told, const std::string& comes_to) {
  const PhysicalUnits& known = context.physical_units();
  const std::string& said = variable_of(context, told).unit;
  if (!known.is_unit(said) || !known.is_unit(comes_to)) return;
  const std::optional<UnitChange> change = known.change(comes_to, said);
  if (change && std::fabs(change->scale - 1) < 1e-12 && std::fabs(change->offset) < 1e-12) return;
  warn_of_derived(context, told,
                  "unit=\"" + said + "\", and expr=\"" + told.expression.text + "\" comes to \"" +
                      comes_to +
                      (change ? "\": nothing is converted; write unit-out=\"" + said +
                                    "\" in place of unit to have it so"
                              : "\", which is of another quantity"));
}

void convert(ReadContext& context, ToDerive& told) {
  Variable& variable = variable_of(context, told);
  const Operation operation = variable.derived->operation;
  const std::string from = variable.unit;
  if (from.empty())
    return refuse_unit(
        context, told,
        "the unit of expr=\"" + told.expression.text + "\" is not known: say it with unit=\"...\"");
  const PhysicalUnits& known = context.physical_units();
  std::optional<UnitChange> change = known.change(from, told.unit_out.text);
  if (!change && operation == Operation::variance)
    change = known.change(from, "(" + told.unit_out.text + ")2");
  if (!change)
    return refuse_unit(context, told,
                       "\"" + from + "\" is not converted to \"" + told.unit_out.text +
                           "\" by UDUNITS: they are no units, or of different quantities");
  if (change->offset != 0 && operation == Operation::accumulate)
    return refuse_unit(context, told,
                       "a sum in \"" + from + "\" is none in \"" + told.unit_out.text +
                           "\", which begins elsewhere");
  if (operation == Operation::variance) change->offset = 0;
  variable.derived->change = *change;
  variable.unit = told.unit_out.text;
}

}  // namespace

void settle_unit(ReadContext& context, ToDerive& told) {
  Variable& variable = variable_of(context, told);
  Derived& derived = *variable.derived;
  std::vector<std::string> units;
  for (const Derived::Input& each : derived.inputs)
    units.push_back(each.is_parameter ? "" : context.model.variables[each.number].unit);
  if (derived.of_neighbours == Along::What::derivative)
    return settle_unit_of_derivative(context, told);
  UnitFinding found = context.physical_units().of(derived.expression, units);
  if (!found.problem.empty())
    warn_of_derived(context, told, "expr=\"" + told.expression.text + "\": " + found.problem);
  if (derived.expression.is_name()) found.unit = units[0];
  if (derived.operation == Operation::variance && !found.unit.empty())
    found.unit = "(" + found.unit + ")2";
  if (!told.has_unit) variable.unit = found.unit;
  if (told.has_unit && !found.unit.empty()) compare_units(context, told, found.unit);
  if (!told.unit_out.text.empty()) convert(context, told);
}

}  // namespace leat::model

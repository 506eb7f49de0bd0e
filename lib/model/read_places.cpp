// SPDX-License-Identifier: Apache-2.0
// select="z=100 m", "z=probe m", d(u, x): places that are coordinates or parameters. Whose coordinates lie where is known when meshes have
// their variables.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/model/axis.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

Derived& derived_of(ReadContext& context, std::uint32_t variable) {
  return *context.model.variables[variable].derived;
}

// What an index or a coordinate is read from.
std::string read_place_of(const Model& model, const PlaceText& text, SelectedPlace* place) {
  const std::size_t index = index_of(model.parameters, text.parameter);
  if (index == model.parameters.size())
    return "\"" + text.parameter + "\" is no parameter" +
           did_you_mean(text.parameter, names_of(model.parameters));
  const ParameterKind kind = model.parameters[index].kind;
  if (kind == ParameterKind::text || (kind != ParameterKind::integer && text.unit.empty()))
    return "the parameter \"" + text.parameter +
           "\" is no integer, as an index is; a coordinate has a unit, as \"" + text.parameter +
           " m\"";
  place->parameter = static_cast<std::uint32_t>(index);
  return "";
}

std::string no_such_unit(const std::string& dimension, const Axis& axis, const std::string& unit) {
  if (axis.unit.empty())
    return "coordinates along \"" + dimension +
           "\" have no unit: say it, as <mesh unit=\"m\"> or of the variable that has them";
  return "coordinates along \"" + dimension + "\" are in \"" + axis.unit + "\", and not in \"" +
         unit + "\"";
}

// Both ends count.
std::string range_of_indices(ReadContext& context, const Axis& axis, SelectedDimension* each) {
  double steps[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const PlaceText& text = each->places[i];
    const std::optional<UnitChange> change = context.physical_units().change(text.unit, axis.unit);
    if (!change) return no_such_unit(each->name, axis, text.unit);
    const double value = text.number * change->scale + change->offset;
    steps[i] = (value - axis.first) / axis.step;
  }
  const double rounding = 1e-9 * std::max({1.0, std::fabs(steps[0]), std::fabs(steps[1])});
  each->what.first =
      std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(steps[0] - rounding)));
  each->what.end = static_cast<std::int64_t>(std::floor(steps[1] + rounding)) + 1;
  return "";
}

// Which indices are between coordinates that ranks write is known when they have written them.
std::string place_range(ReadContext& context, const ToDerive& told, std::size_t d,
                        SelectedDimension* each) {
  const Result<Axis> axis = axis_along(context.model, derived_of(context, told.variable).main, d);
  if (axis && !axis->variable) return range_of_indices(context, *axis, each);
  each->what.range = SelectedRange{each->places[0].number, each->places[1].number, Axis()};
  context.to_place.push_back(
      {told.variable, d, each->places[0].unit, told.select, each->places[1].unit});
  return "";
}

}  // namespace

std::string place_selected(ReadContext& context, const ToDerive& told, std::size_t d,
                           SelectedDimension* each) {
  const Derived& derived = derived_of(context, told.variable);
  if (each->places.size() == 2) return place_range(context, told, d, each);
  const PlaceText& text = each->places[0];
  SelectedPlace& place = each->what.place.emplace();
  place.value = text.number;
  place.is_linear = text.is_linear;
  if (!text.parameter.empty()) {
    if (std::string why = read_place_of(context.model, text, &place); !why.empty()) return why;
    if (derived.is_over_time()) return kNothingOverTime;
  }
  const Variable& main = context.model.variables[derived.main];
  if (text.is_linear && (!layout_of(context.model, main).has_global ||
                         (main.mesh && context.model.meshes[*main.mesh].kind == MeshKind::amr)))
    return "what is beside a block is known only where the layout of \"" + main.name +
           "\" says global=\"...\", and on no amr mesh: leave \"linear\" out, and the nearest "
           "place counts";
  for (const Derived::Input& input : derived.inputs) {
    if (!text.is_linear || input.is_parameter) continue;
    const std::vector<Dimension>& its =
        layout_of(context.model, context.model.variables[input.number]).dimensions;
    const std::vector<Dimension>& all = layout_of(context.model, main).dimensions;
    if (its.size() < all.size() && index_of(its, all[d].name) < its.size())
      return "\"" + context.model.variables[input.number].name + "\" has the dimension \"" +
             all[d].name +
             "\", and not all of the others: let what is computed be a variable of its own, with "
             "store=\"none\", and select of that";
  }
  if (!text.unit.empty())
    context.to_place.push_back({told.variable, d, text.unit, told.select, ""});
  return "";
}

void refuse_selection(ReadContext& context, const Variable& variable, const Said& select,
                      const std::string& why) {
  context.error(select.where,
                "variable \"" + variable.name + "\": select=\"" + select.text + "\": " + why);
}

namespace {

// All that what is over time is made of.
std::set<std::uint32_t> made_into_what_is_over_time(const Model& model) {
  std::set<std::uint32_t> found;
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < model.variables.size(); ++i) {
    const Variable& variable = model.variables[i];
    if (variable.derived && variable.derived->is_over_time()) open.push_back(i);
  }
  while (!open.empty()) {
    const Variable& variable = model.variables[open.back()];
    open.pop_back();
    if (!variable.derived) continue;
    for (const Derived::Input& each : variable.derived->inputs)
      if (!each.is_parameter && found.insert(each.number).second) open.push_back(each.number);
  }
  return found;
}

// A mean over a place that moves from server to server needs all that was there.
void gather_what_moves(Model* model) {
  for (const std::uint32_t each : made_into_what_is_over_time(*model)) {
    const Variable& variable = model->variables[each];
    if (!variable.derived || variable.derived->reduction) continue;
    const std::vector<Selected>& parts = variable.derived->selection;
    const bool moves = std::any_of(parts.begin(), parts.end(), [](const Selected& part) {
      return part.moves || (part.place && part.place->parameter);
    });
    const Layout& layout = model->layouts[variable.layout];
    if (!moves || !layout.has_global) continue;
    Derived& derived = *model->variables[each].derived;
    derived.reduction = SpaceReduction{SpaceOperation::maximum, {}};
    derived.only_gathers = true;
    derived.is_reduced.assign(layout.dimensions.size(), 0);
  }
}

std::string settle_place(ReadContext& context, const ToPlace& told, const std::string& dimension,
                         const Axis& axis, SelectedPlace* place) {
  const std::optional<UnitChange> change = context.physical_units().change(told.unit, axis.unit);
  if (!change) return no_such_unit(dimension, axis, told.unit);
  place->change = *change;
  place->axis = axis;
  return "";
}

std::string settle_range(ReadContext& context, const ToPlace& told, const std::string& dimension,
                         const Axis& axis, SelectedRange* range) {
  const auto convert = [&](const std::string& unit, double* value) {
    const std::optional<UnitChange> change = context.physical_units().change(unit, axis.unit);
    if (!change) return no_such_unit(dimension, axis, unit);
    *value = *value * change->scale + change->offset;
    return std::string();
  };
  std::string why = convert(told.unit, &range->low);
  if (why.empty()) why = convert(told.end_unit, &range->high);
  if (!why.empty()) return why;
  if (!axis.variable) return "a range has indices here, as \"" + dimension + "=2:8\"";
  const Variable& coordinate = context.model.variables[*axis.variable];
  if (coordinate.time_varying)
    return "\"" + coordinate.name +
           "\" varies in time, and so would the shape: write it once, with time-varying=\"false\", "
           "or let the range have indices, as \"" +
           dimension + "=2:8\"";
  range->axis = axis;
  return range->low <= range->high ? "" : "there is nothing between these coordinates";
}

}  // namespace

void read_places(ReadContext& context) {
  for (const ToPlace& each : context.to_place) {
    Derived& derived = derived_of(context, each.variable);
    if (context.shapeless.count(each.variable) > 0) continue;
    const auto refuse = [&](const std::string& why) {
      refuse_selection(context, context.model.variables[each.variable], each.select, why);
    };
    const Result<Axis> axis = axis_along(context.model, derived.main, each.dimension);
    if (!axis) {
      refuse(axis.error().message);
      continue;
    }
    Selected& part = derived.selection[each.dimension];
    const std::uint32_t layout = context.model.variables[derived.main].layout;
    const std::string& name = context.model.layouts[layout].dimensions[each.dimension].name;
    const std::string why = part.range ? settle_range(context, each, name, *axis, &*part.range)
                                       : settle_place(context, each, name, *axis, &*part.place);
    if (!why.empty()) refuse(why);
  }
  for (Variable& variable : context.model.variables) {
    if (!variable.derived || variable.derived->of_neighbours != Along::What::derivative) continue;
    const Result<Axis> axis =
        axis_along(context.model, variable.derived->main, *variable.derived->along);
    if (axis) variable.derived->axis = *axis;
  }
  gather_what_moves(&context.model);
}

}  // namespace leat::model

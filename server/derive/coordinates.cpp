// SPDX-License-Identifier: Apache-2.0
#include "server/derive/coordinates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "server/derive/evaluation.hpp"

namespace leat::server {
namespace {

constexpr const char* kNotAllKnown =
    "not all coordinates are known to this server, or one is NaN: each rank has to write all of "
    "them, "
    "or the mesh to be uniform";
constexpr const char* kNotInOrder = "the coordinates neither ascend nor descend";

bool is_in_order(const std::vector<double>& all) {
  const bool ascends = all.size() < 2 || all[0] < all.back();
  return std::adjacent_find(all.begin(), all.end(), [&](double a, double b) {
           return ascends ? a >= b : a <= b;
         }) == all.end();
}
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A block of coordinates, where it lies in all of them. Its ghosts count where nobody has the place.
void put(const model::Layout& layout, const Block& block, bool ghosts, std::vector<double>* all) {
  const model::Dimension& along = layout.dimensions[0];
  const std::int64_t begin = (block.has_position ? block.position[0] : 0) - along.ghost_low;
  const std::int64_t own = along.ghost_low, behind = block.extent[0] - along.ghost_high;
  for (std::int64_t i = 0; i < block.extent[0]; ++i) {
    const std::int64_t at = begin + i;
    const bool is_ghost = i < own || i >= behind;
    if (is_ghost != ghosts || at < 0 || at >= static_cast<std::int64_t>(all->size())) continue;
    double& place = (*all)[static_cast<std::size_t>(at)];
    if (!ghosts || std::isnan(place)) to_doubles(block.data, layout.type, i, 1, &place);
  }
}

// Values lie in the middle between nodes.
void make_middles(std::vector<double>* nodes) {
  for (std::size_t i = 0; i + 1 < nodes->size(); ++i)
    (*nodes)[i] = (*nodes)[i] + ((*nodes)[i + 1] - (*nodes)[i]) / 2;
  nodes->pop_back();
}

// Half of the distance to the next one further than the first and the last one. `step`: that of all, where they are a single one.
std::pair<double, double> ends_of(const std::vector<double>& all, double step) {
  const bool is_one = all.size() < 2;
  const double first = is_one ? step : all[1] - all[0],
               last = is_one ? step : all.back() - all[all.size() - 2];
  return std::minmax({all[0] - first / 2, all.back() + last / 2});
}

// Beyond the first and the last one, by half a cell, their value counts.
std::string put_between(const std::vector<double>& all, double value, std::size_t nearest,
                        model::Selected* part) {
  const auto is_beyond = [&](std::size_t i) {
    return (all[i] - value) * (all[nearest] - value) > 0;
  };
  std::size_t from = nearest;
  if (nearest > 0 && !is_beyond(nearest - 1)) from = nearest - 1;
  part->first = static_cast<std::int64_t>(from);
  part->beside = 0;
  if (from + 1 < all.size() && (from != nearest || !is_beyond(from + 1)))
    part->beside = (value - all[from]) / (all[from + 1] - all[from]);
  return "";
}

std::string find_nearest(const model::Axis& axis, const std::vector<double>& all, double value,
                         model::Selected* part) {
  if (std::any_of(all.begin(), all.end(), [](double each) { return std::isnan(each); }))
    return kNotAllKnown;
  if (part->place->is_linear && !is_in_order(all)) return kNotInOrder;
  const bool has_ends = all.size() > 1 || !axis.variable;
  const auto [begin, end] = ends_of(all, axis.step);
  if (has_ends && (value < begin || value > end))
    return fmt::format("{:.10g} lies outside: it goes from {:.10g} to {:.10g}{}{}", value, begin,
                       end, axis.unit.empty() ? "" : " ", axis.unit);
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (std::fabs(all[i] - value) < std::fabs(all[nearest] - value)) nearest = i;
  if (part->place->is_linear) return put_between(all, value, nearest, part);
  part->first = static_cast<std::int64_t>(nearest);
  return "";
}

}  // namespace

std::int64_t whole_length(const model::Layout& layout, const Block& block, std::size_t d) {
  const model::Dimension& along = layout.dimensions[d];
  return block.has_position && layout.has_global
             ? block.global[d]
             : block.extent[d] - along.ghost_low - along.ghost_high;
}

std::vector<double> coordinates_along(const model::Model& model, const DerivedFrom& from,
                                      const model::Axis& axis, std::int64_t count) {
  std::vector<double> all(static_cast<std::size_t>(std::max<std::int64_t>(0, count)), kNaN);
  if (!axis.variable) {
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = axis.first + static_cast<double>(i) * axis.step;
    return all;
  }
  const auto found = from.blocks.find(*axis.variable);
  if (found == from.blocks.end() || found->second.empty()) return all;
  const model::Layout& layout = model.layouts[model.variables[*axis.variable].layout];
  const bool has_nodes = whole_length(layout, found->second[0], 0) == count + 1;
  if (has_nodes) all.push_back(kNaN);
  for (const bool ghosts : {false, true})
    for (const Block& each : found->second) put(layout, each, ghosts, &all);
  if (has_nodes) make_middles(&all);
  return all;
}

namespace {

// Coordinates ascend or descend: what lies between two of them is together.
std::string find_range(const model::SelectedRange& range, const std::vector<double>& all,
                       model::Selected* part) {
  if (std::any_of(all.begin(), all.end(), [](double each) { return std::isnan(each); }))
    return kNotAllKnown;
  if (!is_in_order(all)) return kNotInOrder;
  std::size_t first = all.size(), end = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] < range.low || all[i] > range.high) continue;
    first = std::min(first, i);
    end = i + 1;
  }
  if (first >= end)
    return fmt::format("nothing lies between {:.10g} and {:.10g} {}", range.low, range.high,
                       range.axis.unit);
  part->first = static_cast<std::int64_t>(first);
  part->end = static_cast<std::int64_t>(end);
  return "";
}

std::string range_now(const model::Model& model, const DerivedFrom& from, std::int64_t length,
                      model::Selected* part) {
  return find_range(*part->range, coordinates_along(model, from, part->range->axis, length), part);
}

std::string place_now(const model::Model& model, const DerivedFrom& from, std::int64_t length,
                      model::Selected* part) {
  const model::SelectedPlace& place = *part->place;
  const double value = place.parameter ? from.parameters[*place.parameter] : place.value;
  if (std::isnan(value))
    return fmt::format("the parameter \"{}\" has no value",
                       model.parameters[*place.parameter].name);
  if (place.axis)
    return find_nearest(*place.axis, coordinates_along(model, from, *place.axis, length),
                        value * place.change.scale + place.change.offset, part);
  if (value < 0 || value >= static_cast<double>(length))
    return fmt::format("it has indices 0 to {}, and \"{}\" is {:g}", length - 1,
                       model.parameters[*place.parameter].name, value);
  part->first = static_cast<std::int64_t>(value);
  return "";
}

// "" or why it is none.
std::string index_now(const model::Model& model, const DerivedFrom& from,
                      const model::Expression& index, std::int64_t least, std::int64_t most,
                      std::int64_t* number) {
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> set;
  for (std::size_t i = 0; i < from.parameters.size(); ++i) {
    const bool is_there = model.parameters[i].kind == model::ParameterKind::integer &&
                          std::fabs(from.parameters[i]) < 9e18;
    set.push_back(is_there ? 1 : 0);
    values.push_back(is_there ? static_cast<std::int64_t>(from.parameters[i]) : 0);
  }
  const ExpressionValue value = evaluate(index.program.data(), index.program.size(),
                                         {values.data(), set.data(), values.size()});
  *number = value.value;
  if (value.fault == ExpressionFault::unset_parameter)
    return fmt::format("the parameter \"{}\" has no value", model.parameters[value.index].name);
  if (value.fault != ExpressionFault::none)
    return fmt::format("\"{}\" gives {}", index.text, fault_text(value.fault));
  if (value.value >= least && value.value <= most) return "";
  return fmt::format("\"{}\" is {}, and only {} to {} are possible", index.text, value.value, least,
                     most);
}

std::string indices_now(const model::Model& model, const DerivedFrom& from, std::int64_t length,
                        model::Selected* part) {
  std::string why;
  if (part->first_of) why = index_now(model, from, *part->first_of, 0, length - 1, &part->first);
  if (why.empty() && part->end_of)
    why = index_now(model, from, *part->end_of, part->first + 1, length, &part->end.emplace());
  return why;
}

}  // namespace

std::optional<NotSelected> select_now(const model::Model& model, const DerivedFrom& from,
                                      const model::Derived& derived,
                                      std::vector<model::Selected>* parts) {
  *parts = derived.selection;
  const model::Layout& layout = model.layouts[model.variables[derived.main].layout];
  const Block& of = from.blocks.at(derived.main).front();
  for (std::size_t d = 0; d < parts->size(); ++d) {
    model::Selected& part = (*parts)[d];
    const std::int64_t length = whole_length(layout, of, d);
    if (derived.of_neighbours == model::Along::What::middle && d == *derived.along)
      part.end = std::max<std::int64_t>(0, length - 1);
    const std::string why = part.range   ? range_now(model, from, length, &part)
                            : part.place ? place_now(model, from, length, &part)
                                         : indices_now(model, from, length, &part);
    if (why.empty()) continue;
    const bool is_unknown = why == kNotAllKnown || why == kNotInOrder;
    return NotSelected{fmt::format("along \"{}\": {}", layout.dimensions[d].name, why), is_unknown};
  }
  return std::nullopt;
}

}  // namespace leat::server

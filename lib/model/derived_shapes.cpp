// SPDX-License-Identifier: Apache-2.0
// Of which shape variables are that are made of others: that of what they are made of, or what is selected of that, or reduced.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/read_derived.hpp"

namespace leat::model {
namespace {

std::string shape_text(const Layout& layout) {
  std::string text;
  for (const Dimension& each : layout.dimensions)
    text += (text.empty() ? "" : ", ") + each.name + "=" + (each.varying ? "?" : each.extent.text);
  return "(" + text + ")";
}

// Without ghosts.
std::optional<std::int64_t> interior(const Model& model, const Dimension& dimension) {
  if (dimension.extent.program.empty()) return std::nullopt;
  const ExpressionValue value = IntegerValues(model.parameters).evaluate(dimension.extent);
  if (value.fault != ExpressionFault::none) return std::nullopt;
  return value.value - dimension.ghost_low - dimension.ghost_high;
}

// What is reduced has been selected before: all of it without ghosts, where nothing else is said.
void settle_reduction(ReadContext& context, ToDerive& told, const Variable& main) {
  Variable& variable = variable_of(context, told);
  Derived& derived = *variable.derived;
  const std::vector<Dimension>& dimensions = layout_of(context.model, main).dimensions;
  if (derived.selection.empty()) derived.selection.resize(dimensions.size());
  std::vector<std::string>& along = derived.reduction->along;
  for (const std::string& each : along) {
    const std::size_t d = index_of(dimensions, each);
    if (d == dimensions.size() || derived.selection[d].is_one)
      return refuse_reduction(
          context, told,
          "there is no dimension \"" + each + "\"" + did_you_mean(each, names_of(dimensions)));
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
  if (!is_whole && !layout_of(context.model, main).has_global)
    return refuse_reduction(context, told,
                            "what is left has a place in the whole only where the layout of \"" +
                                main.name + "\" says global=\"...\"");
  const SpaceOperation operation = derived.reduction->operation;
  const bool adds = operation == SpaceOperation::mean || operation == SpaceOperation::sum;
  if (adds && main.mesh && context.model.meshes[*main.mesh].kind == MeshKind::amr)
    return refuse_reduction(context, told,
                            "levels of the amr mesh \"" + context.model.meshes[*main.mesh].name +
                                "\" lie over each other: their values cannot be added up");
  variable.mesh.reset();
  add_space_method(&variable, names);
}

Expression expression_of(const Model& model, const std::string& text) {
  return {text, parse_expression(text, model.parameters).program};
}

Expression selected_length(const Model& model, const Expression& whole, const Selected& part) {
  const std::string first =
      part.first_of ? "(" + part.first_of->text + ")" : std::to_string(part.first);
  const std::string end = part.end      ? std::to_string(*part.end)
                          : part.end_of ? "(" + part.end_of->text + ")"
                                        : "(" + whole.text + ")";
  const std::string text = "(" + end + "-" + first + "+" + std::to_string(part.step - 1) + ")/" +
                           std::to_string(part.step);
  return expression_of(model, text);
}

// One less than there are. How many each block has, the server says.
Dimension between_faces(const Model& model, Dimension faces, const std::string& name) {
  const auto one_less = [&](const Expression& whole) {
    return expression_of(model, "(" + whole.text + ")-1");
  };
  faces.ghost_low = faces.ghost_high = 0;
  faces.extent = one_less(faces.extent);
  faces.global = one_less(faces.global);
  faces.varying = false;
  faces.name = name;
  return faces;
}

Layout own_layout(ReadContext& context, const ToDerive& told, const Layout& whole,
                  ScalarType type) {
  const Model& model = context.model;
  const Variable& variable = variable_of(context, told);
  Layout layout = whole;
  layout.name = variable.name;
  layout.type = type;
  if (variable.derived->selection.empty()) return layout;
  layout.dimensions.clear();
  std::size_t kept = 0;
  for (std::size_t d = 0; d < whole.dimensions.size(); ++d) {
    const Selected& part = variable.derived->selection[d];
    if (part.is_one) continue;
    if (variable.derived->of_neighbours == Along::What::middle && d == *variable.derived->along) {
      layout.dimensions.push_back(between_faces(model, whole.dimensions[d], told.along.becomes));
      continue;
    }
    const std::vector<std::uint8_t>& is_reduced = variable.derived->is_reduced;
    if (kept < is_reduced.size() && is_reduced[kept++] != 0) continue;
    Dimension dimension = whole.dimensions[d];
    dimension.position = Expression();
    const std::int64_t ghosts = dimension.ghost_low + dimension.ghost_high;
    dimension.ghost_low = dimension.ghost_high = 0;
    if (part.is_all() && ghosts > 0 && !dimension.varying)
      dimension.extent =
          expression_of(model, "(" + dimension.extent.text + ")-" + std::to_string(ghosts));
    if (!part.is_all()) {
      // Blocks have what lies in them; the server says how much that is.
      dimension.varying = false;
      if (layout.has_global) dimension.global = selected_length(model, dimension.global, part);
      dimension.extent = selected_length(model, dimension.extent, part);
      dimension.name = variable.name.substr(variable.name.rfind('/') + 1) + "_" + dimension.name;
    }
    layout.dimensions.push_back(std::move(dimension));
  }
  if (variable.derived->reduction) layout.blocks = 1;
  return layout;
}

// Those that shape arrays stay what they are once these have been written: the first that does not.
std::optional<std::string> changing_parameter(const Model& model,
                                              const std::optional<Expression>& index) {
  const auto is_size = [&](const ExpressionOp& op) {
    const auto shapes = [&](const Dimension& each) {
      return (!each.varying && each.extent.uses(op.index)) || each.global.uses(op.index);
    };
    const auto is_of = [&](const Layout& layout) {
      return !layout.may_change &&
             std::any_of(layout.dimensions.begin(), layout.dimensions.end(), shapes);
    };
    return op.kind != ExpressionOp::parameter ||
           std::any_of(model.layouts.begin(), model.layouts.end(), is_of);
  };
  if (!index) return std::nullopt;
  const auto found = std::find_if_not(index->program.begin(), index->program.end(), is_size);
  return found == index->program.end() ? std::nullopt
                                       : std::optional(model.parameters[found->index].name);
}

// As far as the parameters are known. Says what cannot be whatever the dimension is like.
std::string evaluate_indices(const Model& model, Selected* part) {
  const IntegerValues known(model.parameters);
  const auto value_of = [&](const std::optional<Expression>& index, std::int64_t otherwise) {
    const ExpressionValue value = index ? known.evaluate(*index) : ExpressionValue{otherwise};
    return value.fault == ExpressionFault::none ? std::optional(value.value) : std::nullopt;
  };
  const std::optional<std::int64_t> first = value_of(part->first_of, part->first),
                                    end = value_of(part->end_of, part->end.value_or(INT64_MAX));
  if (first && *first < 0)
    return "\"" + part->first_of->text + "\" comes to " + std::to_string(*first) +
           ": indices count from 0";
  if (first && end && *end <= *first)
    return "nothing lies between: it goes from " + std::to_string(*first) + " to " +
           std::to_string(*end);
  part->first = first.value_or(0);
  if (part->end_of && end) part->end = end;
  return "";
}

}  // namespace

void read_selection(ReadContext& context, ToDerive& told, const Layout& whole) {
  Variable& variable = variable_of(context, told);
  const auto refuse = [&](const std::string& why) {
    told.state = ToDerive::State::refused;
    refuse_selection(context, variable, told.select, why);
  };
  const Result<std::vector<SelectedDimension>> parsed =
      parse_selection(told.select.text, context.model.parameters);
  if (!parsed) return refuse(parsed.error().message);
  const std::vector<Dimension>& dimensions = whole.dimensions;
  std::vector<Selected> all(dimensions.size());
  for (SelectedDimension each : *parsed) {
    const std::size_t d = index_of(dimensions, each.name);
    if (d == dimensions.size())
      return refuse("there is no dimension \"" + each.name + "\"" +
                    did_you_mean(each.name, names_of(dimensions)));
    if (!each.places.empty()) {
      const std::string why = place_selected(context, told, d, &each);
      if (!why.empty()) return refuse(why);
    }
    const std::optional<std::int64_t> length =
        whole_extent(IntegerValues(context.model.parameters), whole, d);
    if (each.places.size() == 2 && !each.what.range) {
      each.what.end = std::min(*each.what.end, length.value_or(INT64_MAX));
      if (*each.what.end <= each.what.first)
        return refuse("there is nothing between these coordinates");
    }
    const auto changing = changing_parameter(context.model, each.what.first_of);
    each.what.moves = each.what.is_one && changing;
    if (each.what.moves && variable.derived->is_over_time())
      return refuse("\"" + *changing +
                    "\" is not the size of a layout that stays the same, and so may change: " +
                    kNothingOverTime);
    Selected known = each.what;
    if (std::string why = evaluate_indices(context.model, &known); !why.empty()) return refuse(why);
    const std::int64_t last = known.end ? *known.end - 1 : known.first;
    if (length && last >= *length && !each.what.place)
      return refuse("the dimension \"" + each.name + "\" has indices 0 to " +
                    std::to_string(*length - 1) +
                    (last == (each.what.end ? *each.what.end - 1 : each.what.first)
                         ? ""
                         : ", and this comes to " + std::to_string(last)));
    all[d] = each.what;
  }
  variable.derived->selection = std::move(all);
  // Places of the mesh are those of the whole.
  variable.mesh.reset();
}

void expect_same_shape(ReadContext& context, ToDerive& told, const Variable& other,
                       const Variable& main) {
  const Layout &a = layout_of(context.model, main), &b = layout_of(context.model, other);
  const auto refuse = [&] {
    refuse_derived(context, told,
                   "the shapes of \"" + main.name + "\", " + shape_text(a) + ", and \"" +
                       other.name + "\", " + shape_text(b) + ", do not go together");
  };
  const bool same_rank = a.dimensions.size() == b.dimensions.size();
  // The last block has one less than there are faces.
  const auto is_between_faces = [](const Variable& variable, std::size_t d) {
    return variable.derived && variable.derived->of_neighbours == Along::What::middle &&
           d == *variable.derived->along;
  };
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
    const std::optional<std::int64_t> here = interior(context.model, *found),
                                      there = interior(context.model, own);
    if (here && there && *here != *there && !is_between_faces(other, d) &&
        !is_between_faces(main, static_cast<std::size_t>(found - a.dimensions.begin())))
      return refuse();
    if (found->ghost_low != own.ghost_low || found->ghost_high != own.ghost_high)
      // All of it, without ghosts.
      variable_of(context, told).derived->selection.resize(a.dimensions.size());
  }
}

namespace {

// The dimension that other layouts have in the place of this one, with one value less: cells between faces. "" where there is none, or several.
std::string cells_between(const ReadContext& context, const Layout& faces, std::size_t d) {
  const AssumedSizes sizes(context.model);
  std::set<std::string> names;
  const auto is_derived = [&](const Layout& layout) {
    const std::size_t variable = index_of(context.model.variables, layout.name);
    return variable < context.model.variables.size() && context.model.variables[variable].derived;
  };
  for (const Layout& each : context.model.layouts) {
    bool is_like = !is_derived(each) && each.dimensions.size() == faces.dimensions.size();
    for (std::size_t other = 0; is_like && other < faces.dimensions.size(); ++other) {
      const bool is_same = each.dimensions[other].name == faces.dimensions[other].name;
      is_like = other == d ? !is_same && sizes.less(faces, d, each, d) == 1 : is_same;
    }
    if (is_like) names.insert(each.dimensions[d].name);
  }
  return names.size() == 1 ? *names.begin() : "";
}

}  // namespace

// What is left has no ghosts: they have no neighbours.
void settle_neighbours(ReadContext& context, ToDerive& told, const Variable& main) {
  Derived& derived = *variable_of(context, told).derived;
  const Layout& layout = layout_of(context.model, main);
  const std::size_t d = index_of(layout.dimensions, told.along.dimension);
  const std::string what = told.along.text_of(main.name) + ": ";
  if (d == layout.dimensions.size())
    return refuse_derived(context, told,
                          what + "\"" + main.name + "\" has no dimension \"" +
                              told.along.dimension + "\"" +
                              did_you_mean(told.along.dimension, names_of(layout.dimensions)));
  if (!layout.has_global || (main.mesh && context.model.meshes[*main.mesh].kind == MeshKind::amr))
    return refuse_derived(context, told,
                          what + "what is beside a block is known only where the layout of \"" +
                              main.name + "\" says global=\"...\", and on no amr mesh");
  derived.along = static_cast<std::uint32_t>(d);
  derived.of_neighbours = told.along.what;
  derived.selection.resize(layout.dimensions.size());
  if (told.along.what != Along::What::middle) return;
  if (told.along.becomes.empty()) told.along.becomes = cells_between(context, layout, d);
  if (told.along.becomes.empty())
    refuse_derived(context, told,
                   what +
                       "no layout has cells between these faces, in a dimension of one value "
                       "less: say what the dimension is called then, as in mid(" +
                       main.name + ", " + told.along.dimension + ", x)");
}

void settle_layout(ReadContext& context, ToDerive& told, const Variable& main, ScalarType type) {
  std::vector<Layout>& layouts = context.model.layouts;
  const Derived& derived = *variable_of(context, told).derived;
  if (derived.reduction) settle_reduction(context, told, main);
  if (told.is_refused()) return;
  Variable& variable = variable_of(context, told);
  variable.layout = main.layout;
  if (derived.selection.empty() && layouts[main.layout].type == type) return;
  variable.layout = static_cast<std::uint32_t>(layouts.size());
  layouts.push_back(own_layout(context, told, layouts[main.layout], type));
}

}  // namespace leat::model

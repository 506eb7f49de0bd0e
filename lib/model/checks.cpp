// SPDX-License-Identifier: Apache-2.0
#include "lib/model/checks.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "lib/model/expression_parser.hpp"
#include "lib/model/wanted.hpp"

namespace leat::model {
namespace {

class LayoutCheck {
 public:
  LayoutCheck(ReadContext& context, const Layout& layout, const Attributes& attributes)
      : context_(context),
        layout_(layout),
        attributes_(attributes),
        known_(context.model.parameters),
        none_(std::vector<Parameter>(context.model.parameters.size())) {}

  void dimension(const Dimension& dimension) {
    hangs_on_values_ = !dimension.varying && hangs_on_values(dimension.extent);
    hangs_on_values_ =
        hangs_on_values_ || (layout_.has_global && hangs_on_values(dimension.global));
    std::optional<std::int64_t> extent, global;
    if (!dimension.varying) extent = size("dimensions", dimension.extent);
    if (layout_.has_global) global = size("global", dimension.global);
    if (!extent) return;
    std::int64_t ghosts = 0, interior = -1;
    if (!__builtin_add_overflow(dimension.ghost_low, dimension.ghost_high, &ghosts)) {
      interior = *extent - ghosts;
    }
    if (interior < 0) {
      error("ghosts", std::to_string(dimension.ghost_low) + " and " +
                          std::to_string(dimension.ghost_high) +
                          " ghosts do not fit into the extent " + shown(dimension.extent, *extent) +
                          ", which contains them");
    } else if (global && *global < interior) {
      error("global", "the whole, " + shown(dimension.global, *global) + ", is smaller than the " +
                          std::to_string(interior) + " elements of one block without ghosts");
    }
  }

 private:
  void error(const char* attribute, const std::string& message) {
    const SourceLocation& where = attributes_.where(attribute);
    const std::string text = attributes_.title() + ": " + message;
    if (!layout_.may_change || !hangs_on_values_) return context_.error(where, text);
    context_.out.warning(where, text + ": the program must set other values before it writes");
  }

  bool hangs_on_values(const Expression& expression) const {
    return none_.evaluate(expression).fault == ExpressionFault::unset_parameter;
  }

  // The value if it is known and good.
  std::optional<std::int64_t> size(const char* attribute, const Expression& expression) {
    const ExpressionValue value = known_.evaluate(expression);
    if (value.fault == ExpressionFault::unset_parameter) return std::nullopt;
    if (value.fault != ExpressionFault::none) {
      error(attribute, "\"" + expression.text + "\" in " + attribute + " gives " +
                           fault_text(value.fault) + " with the parameters of this file");
      return std::nullopt;
    }
    if (value.value >= 0) return value.value;
    error(attribute,
          std::string(attribute) + " has the negative extent " + shown(expression, value.value));
    return std::nullopt;
  }

  // `"nx-8" = -4`, or just the number.
  static std::string shown(const Expression& expression, std::int64_t value) {
    const std::string number = std::to_string(value);
    return expression.text == number ? number : "\"" + expression.text + "\" = " + number;
  }

  ReadContext& context_;
  const Layout& layout_;
  const Attributes& attributes_;
  IntegerValues known_, none_;
  bool hangs_on_values_ = false;  // the dimension that is looked at
};

}  // namespace

void check_layout(ReadContext& context, const Layout& layout, const Attributes& attributes) {
  LayoutCheck check(context, layout, attributes);
  for (const Dimension& dimension : layout.dimensions) check.dimension(dimension);
}

namespace {

bool is_grid(const Mesh& mesh) {
  return mesh.kind == Mesh::Kind::uniform || mesh.kind == Mesh::Kind::rectilinear ||
         mesh.kind == Mesh::Kind::curvilinear || mesh.kind == Mesh::Kind::amr;
}

class MeshCheck {
 public:
  MeshCheck(ReadContext& context, const Variable& variable)
      : context_(context),
        model_(context.model),
        variable_(variable),
        mesh_(context.model.meshes[*variable.mesh]),
        layout_(context.model.layouts[variable.layout]) {}

  void run() {
    const std::size_t dims = layout_.dimensions.size();
    if (is_grid(mesh_) && mesh_.dims > 0 && dims != mesh_.dims) {
      return error("has " + std::to_string(dims) + (dims == 1 ? " dimension" : " dimensions") +
                   " and its mesh \"" + mesh_.name + "\" has " + std::to_string(mesh_.dims));
    }
    if (!is_grid(mesh_) && dims == 0)
      return error("is a single number, and its mesh \"" + mesh_.name + "\" has many points");
    if (mesh_.kind == Mesh::Kind::rectilinear) check_axes();
    if (mesh_.kind == Mesh::Kind::curvilinear) check_shape();
    if (mesh_.kind == Mesh::Kind::amr) check_patches();
  }

 private:
  void error(const std::string& message) {
    context_.error(variable_.where, "variable \"" + variable_.name + "\" " + message);
  }

  // x, the first coordinate, runs along the last dimension.
  void check_axes() {
    const std::size_t dims = layout_.dimensions.size();
    for (std::size_t axis = 0; axis < mesh_.coordinates.size() && axis < dims; ++axis) {
      const std::string& dimension = layout_.dimensions[dims - 1 - axis].name;
      const std::size_t named = axis_called(dimension);
      if (named < mesh_.coordinates.size() && coordinate(axis) != dimension)
        return crossed(dimension, coordinate(axis));
    }
    for (std::size_t axis = 0; axis < mesh_.coordinates.size() && axis < dims; ++axis)
      compare(dims - 1 - axis, mesh_.coordinates[axis], 0);
  }

  // "x" of "grid/x".
  std::string coordinate(std::size_t axis) const {
    const std::string& name = model_.variables[mesh_.coordinates[axis]].name;
    return name.substr(name.rfind('/') + 1);
  }

  std::size_t axis_called(const std::string& name) const {
    std::size_t axis = 0;
    while (axis < mesh_.coordinates.size() && coordinate(axis) != name) ++axis;
    return axis;
  }

  void crossed(const std::string& dimension, const std::string& along) {
    const bool is_fortran = layout_.order == Order::fortran;
    std::string names;  // that would fit, in the order of the XML
    for (std::size_t axis = 0; axis < mesh_.coordinates.size(); ++axis)
      names = is_fortran ? names + (axis ? "," : "") + coordinate(axis)
                         : coordinate(axis) + (axis ? "," : "") + names;
    error("has the dimension \"" + dimension + "\" where the coordinate \"" + along +
          "\" of its mesh \"" + mesh_.name + "\" lies: the first coordinate, \"" + coordinate(0) +
          "\", runs along the " +
          (is_fortran ? "first dimension of order=\"fortran\": write "
                      : "last dimension: write order=\"fortran\" where the array is one of "
                        "Fortran, else ") +
          "names=\"" + names + "\"");
  }

  void check_shape() {
    for (const std::uint32_t coordinate : mesh_.coordinates) {
      const std::size_t dims =
          model_.layouts[model_.variables[coordinate].layout].dimensions.size();
      for (std::size_t d = 0; d < layout_.dimensions.size() && d < dims; ++d)
        compare(d, coordinate, d);
    }
  }

  // Blocks of an amr mesh are patches of cells that come and go.
  void check_patches() {
    const std::string of = " of its mesh \"" + mesh_.name + "\"";
    if (layout_.has_global)
      error("lies on the amr mesh \"" + mesh_.name + "\", and its layout \"" + layout_.name +
            "\" has global=\"...\", the size of one array: leave that out, since each block has "
            "its place among the cells of its level");
    if (variable_.centering == Centering::nodal)
      error("has centering \"nodal\"; the values of blocks" + of + " lie in cells: \"zonal\"");
    if (!variable_.time_varying)
      error("is written once, by time-varying=\"false\"; the blocks" + of +
            " may be others in each iteration");
  }

  void compare(std::size_t d, std::uint32_t coordinate, std::size_t of_coordinate) {
    const Variable& axis = model_.variables[coordinate];
    const Layout& layout = model_.layouts[axis.layout];
    if (layout.dimensions.size() <= of_coordinate) return;
    const IntegerValues known(model_.parameters);
    const auto mine = whole_extent(known, layout_, d);
    const auto theirs = whole_extent(known, layout, of_coordinate);
    if (!mine || !theirs || std::abs(*mine - *theirs) <= 1) return;
    error("has " + std::to_string(*mine) + " values along \"" + layout_.dimensions[d].name +
          "\", and the coordinate \"" + axis.name + "\" of its mesh \"" + mesh_.name + "\" has " +
          std::to_string(*theirs) + ": as many, or one more or less, would fit" +
          (mesh_.dims > 1 ? "; coordinates are in the order x, y, z, and x runs along the last "
                            "dimension, \"" +
                                layout_.dimensions.back().name + "\""
                          : ""));
  }

  ReadContext& context_;
  const Model& model_;
  const Variable& variable_;
  const Mesh& mesh_;
  const Layout& layout_;
};

}  // namespace

std::optional<std::int64_t> whole_extent(const IntegerValues& parameters, const Layout& layout,
                                         std::size_t d) {
  const Dimension& dimension = layout.dimensions[d];
  if (dimension.varying && !layout.has_global) return std::nullopt;
  const ExpressionValue value =
      parameters.evaluate(layout.has_global ? dimension.global : dimension.extent);
  if (value.fault != ExpressionFault::none) return std::nullopt;
  if (layout.has_global) return value.value;
  return value.value - dimension.ghost_low - dimension.ghost_high;
}

namespace {

IntegerValues assumed(const Model& model, std::int64_t first, std::int64_t step) {
  IntegerValues::Overrides all(model.parameters.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!is_set(model.parameters[i].value))
      all[i] = first + step * static_cast<std::int64_t>(i * i);
  return IntegerValues(model.parameters, all);
}

// What arithmetic can be done with; the XML may have any number.
bool is_size(std::optional<std::int64_t> values) {
  return values && *values >= 0 && *values < (std::int64_t{1} << 62);
}

}  // namespace

AssumedSizes::AssumedSizes(const Model& model)
    : values_(assumed(model, 1009, 101)), otherwise_(assumed(model, 2003, 307)) {}

std::optional<std::pair<std::int64_t, std::int64_t>> AssumedSizes::whole(const Layout& layout,
                                                                         std::size_t d) const {
  const auto values = whole_extent(values_, layout, d);
  const auto otherwise = whole_extent(otherwise_, layout, d);
  if (!is_size(values) || !is_size(otherwise)) return std::nullopt;
  return std::pair(*values, *otherwise);
}

std::optional<std::int64_t> AssumedSizes::less(const Layout& layout, std::size_t d,
                                               const Layout& other, std::size_t of_other) const {
  const auto mine = whole(layout, d), theirs = whole(other, of_other);
  if (!mine || !theirs || mine->first - theirs->first != mine->second - theirs->second)
    return std::nullopt;
  return mine->first - theirs->first;
}

void check_on_mesh(ReadContext& context, const Variable& variable) {
  MeshCheck(context, variable).run();
}

namespace {

// Values of a variable along one dimension, and how many cells of the mesh that would be.
struct AlongAxis {
  Variable* variable;
  std::size_t dimension;
  std::int64_t values;
  std::int64_t values_otherwise;  // with other values of the parameters that the XML leaves open

  bool is_known() const { return values == values_otherwise; }
  bool is_zonal() const { return variable->centering == Centering::zonal; }
  std::int64_t cells() const { return is_zonal() ? values : values - 1; }
};
using AllAlong = std::vector<AlongAxis>;

// Whatever the simulation sets, one is longer than the other by the same number.
bool go_together(const AlongAxis& a, const AlongAxis& b) {
  return a.values - b.values == a.values_otherwise - b.values_otherwise;
}

// The one whose array has as many cells as the mesh; `all` is not empty.
const AlongAxis& measure(const AllAlong& all) {
  const AlongAxis* best = &all.front();
  for (const AlongAxis& each : all) {
    const bool both_zonal = each.is_zonal() && best->is_zonal();
    const bool both_nodal = !each.is_zonal() && !best->is_zonal();
    if ((both_zonal && each.cells() < best->cells()) ||
        (both_nodal && each.cells() > best->cells()) || (each.is_zonal() && !best->is_zonal()))
      best = &each;
  }
  return *best;
}

std::string misfit(const AlongAxis& one, const AlongAxis& by, const Model& model) {
  const std::string cells = std::to_string(by.cells()), nodes = std::to_string(by.cells() + 1);
  const std::string more = std::to_string(std::abs(one.values - by.cells()));
  const std::string name = model.layouts[one.variable->layout].dimensions[one.dimension].name;
  const std::string mesh = model.meshes[*one.variable->mesh].name, other = by.variable->name;
  const std::string rest =
      "; where others lie is not known, and they get no coordinate. A mesh of its own says it";
  if (one.is_known())
    return "variable \"" + one.variable->name + "\" has " + std::to_string(one.values) +
           " values along \"" + name + "\", and its mesh \"" + mesh + "\" has " + cells +
           " cells there, as \"" + other + "\" says: " + cells +
           " values lie at the centres of cells and " + nodes + " at the nodes" + rest;
  return "variable \"" + one.variable->name + "\" has " + more +
         (one.values > by.cells() ? " more" : " fewer") + " values along \"" + name +
         "\" than its mesh \"" + mesh + "\" has cells, as \"" + other +
         "\" says: as many lie at the centres of cells and one more at the nodes" + rest;
}

class Placing {
 public:
  explicit Placing(ReadContext& context)
      : context_(context), model_(context.model), sizes_(context.model) {}

  // Arrays with a global shape are the whole; others are, where one rank has one block.
  void place(std::uint32_t mesh, bool has_global) {
    for (unsigned axis = 0; axis < model_.meshes[mesh].dims; ++axis) {
      AllAlong all = along(mesh, axis, has_global);
      while (!all.empty()) all = place(all);
    }
  }

 private:
  // Places those that go with the first one; returns the others.
  AllAlong place(const AllAlong& all) {
    AllAlong together, others;
    for (const AlongAxis& each : all)
      (go_together(each, all.front()) ? together : others).push_back(each);
    const AlongAxis& by = measure(together);
    for (const AlongAxis& each : together) each.variable->centerings[each.dimension] = of(each, by);
    return others;
  }

  AllAlong along(std::uint32_t mesh, unsigned axis, bool has_global) {
    AllAlong all;
    for (std::uint32_t i = 0; i < model_.variables.size(); ++i) {
      Variable& variable = model_.variables[i];
      if (variable.mesh != mesh || context_.shapeless.count(i) > 0) continue;
      const Layout& layout = model_.layouts[variable.layout];
      if (layout.has_global != has_global || layout.dimensions.size() != model_.meshes[mesh].dims)
        continue;
      variable.centerings.resize(layout.dimensions.size(), variable.centering);
      const std::size_t d = layout.dimensions.size() - 1 - axis;  // x runs along the last one
      if (const auto size = sizes_.whole(layout, d))
        all.push_back({&variable, d, size->first, size->second});
    }
    return all;
  }

  Centering of(const AlongAxis& one, const AlongAxis& by) {
    if (one.values == by.cells()) return Centering::zonal;
    if (one.values == by.cells() + 1) return Centering::nodal;
    context_.out.warning(one.variable->where, misfit(one, by, model_));
    return Centering::unplaced;
  }

  ReadContext& context_;
  Model& model_;
  AssumedSizes sizes_;
};

}  // namespace

void place_on_uniform_meshes(ReadContext& context) {
  Placing placing(context);
  for (std::uint32_t mesh = 0; mesh < context.model.meshes.size(); ++mesh) {
    if (context.model.meshes[mesh].kind != Mesh::Kind::uniform) continue;
    placing.place(mesh, true);
    placing.place(mesh, false);
  }
}

namespace {

// The product of `from` that `to` makes others of; "" for none.
std::string product_between(const ProductMaker& from, const ProductMaker& to) {
  const bool goes_back = from.on_staging && !to.on_staging;
  if (from.source == to.source || to.makes.empty() || goes_back) return "";
  const auto taken = std::find_if(
      from.makes.begin(), from.makes.end(),
      [&](const std::string& product) { return is_wanted(to.takes, from.source + "/" + product); });
  return taken == from.makes.end() ? "" : from.source + "/" + *taken;
}

class Search {
 public:
  explicit Search(const std::vector<ProductMaker>& makers)
      : makers_(makers), steps_(makers.size(), kUnseen) {}

  // False: there is a circle.
  bool visit(std::size_t maker) {
    if (steps_[maker] == kUnderWay) return note_circle(maker);
    if (steps_[maker] != kUnseen) return true;
    steps_[maker] = kUnderWay;
    path_.push_back(maker);
    int step = makers_[maker].makes.empty() ? 0 : 1;
    for (std::size_t other = 0; other < makers_.size(); ++other) {
      if (product_between(makers_[other], makers_[maker]).empty()) continue;
      if (!visit(other)) return false;
      step = std::max(step, steps_[other] + 1);
    }
    path_.pop_back();
    steps_[maker] = step;
    return true;
  }

  ProductFlow flow() && { return {std::move(steps_), {}}; }
  const std::string& circle() const noexcept { return circle_; }

 private:
  static constexpr int kUnseen = -2, kUnderWay = -1;

  // The path leads from takers to makers: products flow from its end to its beginning.
  bool note_circle(std::size_t first) {
    std::vector<std::size_t> round(std::find(path_.begin(), path_.end(), first), path_.end());
    round.push_back(first);
    for (std::size_t i = round.size() - 1; i > 0; --i)
      circle_ += product_between(makers_[round[i]], makers_[round[i - 1]]) + " -> ";
    circle_ += circle_.substr(0, circle_.find(" -> "));
    return false;
  }

  const std::vector<ProductMaker>& makers_;
  std::vector<int> steps_;
  std::vector<std::size_t> path_;
  std::string circle_;
};

}  // namespace

ProductMaker maker_of(const Store& store) {
  return {store.name, store.products, store.publishes, store.at == At::staging};
}

std::vector<ProductMaker> makers_of(const Model& model) {
  std::vector<ProductMaker> makers;
  for (const Store& store : model.stores) makers.push_back(maker_of(store));
  return makers;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

bool is_wanted(const std::vector<std::string>& patterns, const std::string& name) {
  const std::string plain = without_node(name);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
           ::fnmatch(pattern.c_str(), plain.c_str(), 0) == 0;
  });
}

std::string without_node(const std::string& name) {
  const std::size_t end = std::min(name.find('/'), name.size()), at = name.rfind('@', end);
  if (at == std::string::npos || at + 1 >= end ||
      name.find_first_not_of("0123456789", at + 1) < end)
    return name;
  return name.substr(0, at) + name.substr(end);
}

std::string why_no_product_name(const std::string& name) {
  const bool has_odd = std::any_of(name.begin(), name.end(), [](char c) {
    return c == '/' || static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
  });
  if (!name.empty() && !has_odd && name[0] != '.') return "";
  return "\"" + name + "\" is no name for a product: letters, digits and \"_\" are";
}

ProductFlow product_flow(const std::vector<ProductMaker>& makers) {
  Search search(makers);
  for (std::size_t maker = 0; maker < makers.size(); ++maker) {
    if (!search.visit(maker)) return {{}, search.circle()};
  }
  return std::move(search).flow();
}

// "" or the products that this one would take of itself; a pattern for all sources means others.
static std::string own_products_of(const ProductMaker& maker) {
  const auto own = std::find_if(maker.takes.begin(), maker.takes.end(), [&](const auto& pattern) {
    return pattern.substr(0, pattern.find('/')) == maker.source;
  });
  return own == maker.takes.end() ? "" : *own;
}

std::string why_endless(const std::vector<ProductMaker>& makers) {
  for (const ProductMaker& maker : makers) {
    const std::string own = own_products_of(maker);
    if (!own.empty())
      return "products=\"" + own + "\": \"" + maker.source +
             "\" would take what it publishes itself, and nobody is given that; what makes "
             "something "
             "of it has to be another store or script";
  }
  const std::string circle = product_flow(makers).circle;
  if (circle.empty()) return "";
  return "products would be made of each other without end: " + circle +
         "; take in products= of one of them what it needs only";
}

std::string why_never_there(const ProductMaker& taker, const std::vector<ProductMaker>& all) {
  if (taker.on_staging) return "";
  for (const std::string& pattern : taker.takes) {
    const std::string source = without_node(pattern.substr(0, pattern.find('/')));
    const auto named = std::find_if(all.begin(), all.end(), [&](const ProductMaker& each) {
      return each.on_staging && each.source == source;
    });
    if (named == all.end()) continue;
    return "products=\"" + pattern + "\": \"" + source +
           "\" works on staging nodes; products go there from the nodes of the simulation, and "
           "none "
           "come back: write at=\"staging\" for \"" +
           taker.source + "\" too, or at=\"node\" for \"" + source + "\"";
  }
  return "";
}

namespace {

constexpr std::uint64_t kTooMany = UINT64_MAX;

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return __builtin_add_overflow(a, b, &a) ? kTooMany : a;
}

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  return __builtin_mul_overflow(a, b, &a) ? kTooMany : a;
}

// The extent in `value`, or says in `unknown` why there is none.
bool extent_of(const Model& model, const Dimension& dimension, const IntegerValues& known,
               std::uint64_t& value, VariableEstimate& unknown) {
  const auto say = [&](std::string why, bool impossible) {
    unknown.why_unknown = std::move(why);
    unknown.impossible = impossible;
    return false;
  };
  if (dimension.varying) return say(dimension.name + " is set in the run", false);
  const ExpressionValue result = known.evaluate(dimension.extent);
  const std::string quoted = "\"" + dimension.extent.text + "\"";
  switch (result.fault) {
    case ExpressionFault::none:
      break;
    case ExpressionFault::unset_parameter:
      return say("needs " + model.parameters[result.index].name, false);
    case ExpressionFault::division_by_zero:
    case ExpressionFault::overflow:
    case ExpressionFault::malformed:
      return say(quoted + " gives " + fault_text(result.fault), true);
  }
  if (result.value < 0) return say(quoted + " is " + std::to_string(result.value), true);
  value = static_cast<std::uint64_t>(result.value);
  return true;
}

VariableEstimate estimate(const Model& model, std::uint32_t index, std::uint32_t step,
                          const IntegerValues& known, BytesInSegment* in_segment) {
  VariableEstimate result;
  result.variable = index;
  result.taken = step > 0;
  const Layout& layout = model.layouts[model.variables[index].layout];
  std::uint64_t bytes = scalar_bytes(layout.type);
  bool empty = false;
  for (const Dimension& dimension : layout.dimensions) {
    std::uint64_t extent = 0;
    if (!extent_of(model, dimension, known, extent, result)) return result;
    empty = empty || extent == 0;
    bytes = multiply(bytes, extent);
  }
  if (empty) bytes = 0;
  const auto blocks = static_cast<std::uint64_t>(layout.blocks);
  const std::uint64_t one = in_segment(bytes);
  const std::uint64_t all = one == 0 ? kTooMany : multiply(one, blocks);
  if (all == kTooMany) {
    result.why_unknown = "more bytes than fit into 64 bits";
    result.impossible = true;
    return result;
  }
  result.bytes_per_rank = bytes * blocks;
  result.segment_bytes_per_rank = all;
  return result;
}

}  // namespace

MemoryEstimate estimate_memory(const Model& model, std::int64_t ranks_per_node,
                               BytesInSegment* in_segment,
                               const std::vector<std::optional<std::int64_t>>& overrides) {
  const IntegerValues known(model.parameters, overrides);
  const std::vector<std::uint32_t> steps = wanted_steps(model);
  MemoryEstimate result;
  result.buffer_bytes = model.architecture.buffer_bytes;
  for (std::uint32_t i = 0; i < model.variables.size(); ++i) {
    if (model.variables[i].derived) continue;  // not in the buffer
    result.variables.push_back(estimate(model, i, steps[i], known, in_segment));
    const VariableEstimate& last = result.variables.back();
    const std::uint64_t bytes = last.taken ? last.segment_bytes_per_rank : 0;
    result.known_bytes_per_rank = add(result.known_bytes_per_rank, bytes);
  }
  const auto ranks = static_cast<std::uint64_t>(ranks_per_node > 0 ? ranks_per_node : 0);
  result.known_bytes_per_node = multiply(result.known_bytes_per_rank, ranks);
  return result;
}

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
#include "client-api/variable_table.hpp"

#include "lib/base/suggest.hpp"

namespace leat::client {
namespace {

constexpr std::uint32_t kIntegerKind = 1;

// In the caller's order; `first` is the index of the first element of an array there.
std::string shape_text(const std::int64_t* extents, std::uint32_t dims, bool column_major,
                       std::int64_t first = 0) {
  std::string text = "(";
  for (std::uint32_t d = 0; d < dims; ++d)
    text += (d ? ", " : "") + std::to_string(extents[column_major ? dims - 1 - d : d] + first);
  return text + ")";
}

template <class Records>
std::vector<std::string> names_of(const shm::Catalogue& catalogue, const Records& records) {
  std::vector<std::string> names;
  for (const auto& record : records) names.emplace_back(catalogue.text(record.name));
  return names;
}

}  // namespace

VariableTable::VariableTable(const shm::Catalogue& catalogue, std::string config)
    : catalogue_(catalogue), config_(std::move(config)) {
  states_.resize(catalogue_.variables().size());
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    const shm::VariableRecord& record = catalogue_.variables()[i];
    states_[i].name = catalogue_.text(record.name);
    states_[i].layout = record.layout;
    states_[i].wanted_every = record.wanted_every;
    variables_.emplace(states_[i].name, i);
  }
  layouts_.resize(catalogue_.layouts().size());
  for (const shm::ParameterRecord& p : catalogue_.parameters()) {
    parameters_.emplace(catalogue_.text(p.name), static_cast<std::uint32_t>(values_.size()));
    values_.push_back(p.integer);
    set_.push_back(p.has_value != 0 && p.kind == kIntegerKind);
  }
}

std::int64_t VariableTable::search(std::string_view name) noexcept {
  const std::int64_t found = index_of(name);
  if (found < 0) return -1;
  return found_ = states_[found_].following = static_cast<std::uint32_t>(found);
}

std::int64_t VariableTable::index_of(std::string_view name) const noexcept {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::int64_t{-1} : found->second;
}

std::int64_t VariableTable::find_parameter(std::string_view name) const noexcept {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? std::int64_t{-1} : found->second;
}

Error VariableTable::unknown_variable(std::string_view name) const {
  const std::vector<std::string> names = names_of(catalogue_, catalogue_.variables());
  return Error{
      Status::ERROR_UNKNOWN_NAME,
      config_ + " declares no variable \"" + std::string(name) + "\"" + did_you_mean(name, names)};
}

Error VariableTable::unknown_parameter(std::string_view name) const {
  const std::vector<std::string> names = names_of(catalogue_, catalogue_.parameters());
  return Error{
      Status::ERROR_UNKNOWN_NAME,
      config_ + " declares no parameter \"" + std::string(name) + "\"" + did_you_mean(name, names)};
}

std::string_view VariableTable::parameter_name(std::uint32_t index) const noexcept {
  return catalogue_.text(parameter(index).name);
}

const shm::ParameterRecord& VariableTable::parameter(std::uint32_t index) const noexcept {
  return catalogue_.parameters()[index];
}

std::string VariableTable::title(std::uint32_t variable) const {
  const shm::VariableRecord& record = catalogue_.variables()[variable];
  return "variable \"" + std::string(name(variable)) + "\" (" +
         std::string(catalogue_.text(record.where)) + ")";
}

Result<void> VariableTable::set_extent(std::uint32_t variable, BlockState& state,
                                       const std::int64_t* extent, bool column_major) {
  const std::uint32_t dims = catalogue_.layouts()[layout_of(variable)].dims;
  for (std::uint32_t d = 0; d < dims; ++d) {
    if (extent[d] >= 0) continue;
    return Error{Status::ERROR_ARGUMENT,
                 title(variable) + ": leat_set_extent said " +
                     shape_text(extent, dims, column_major) + ", but dimension " +
                     std::to_string(column_major ? dims - d : d) + " cannot be negative"};
  }
  for (std::uint32_t d = 0; d < dims; ++d) state.extent[d] = extent[d];
  state.has_extent = true;
  state.shape_generation = 0;
  return {};
}

void VariableTable::set_position(std::uint32_t variable, BlockState& state,
                                 const std::int64_t* position) {
  const shm::LayoutRecord& layout = catalogue_.layouts()[layout_of(variable)];
  for (std::uint32_t d = 0; d < layout.dims; ++d) state.position[d] = position[d];
  state.has_position = true;
  state.shape_generation = 0;
}

bool VariableTable::depends_on(const shm::LayoutRecord& layout,
                               std::uint32_t parameter) const noexcept {
  const auto uses = [&](shm::ProgramRef ref) {
    for (const ExpressionOp& op : catalogue_.program(ref)) {
      if (op.kind == ExpressionOp::parameter && op.index == parameter) return true;
    }
    return false;
  };
  for (const shm::DimensionRecord& dimension : catalogue_.dimensions_of(layout)) {
    if (uses(dimension.extent) || uses(dimension.global)) return true;
  }
  return false;
}

Result<void> VariableTable::set_integer(std::uint32_t parameter, std::int64_t value) {
  if (set_[parameter] && values_[parameter] == value) return {};
  for (const VariableState& variable : states_) {
    const shm::LayoutRecord& layout = catalogue_.layouts()[variable.layout];
    if (!variable.written || !depends_on(layout, parameter)) continue;
    return Error{Status::ERROR_STATE,
                 "parameter \"" + std::string(catalogue_.text(this->parameter(parameter).name)) +
                     "\" shapes layout \"" + std::string(catalogue_.text(layout.name)) + "\" (" +
                     std::string(catalogue_.text(layout.where)) +
                     "), of which blocks were written already: set it before the first write, or "
                     "give the layout \"?\" dimensions and use leat_set_extent"};
  }
  values_[parameter] = value;
  set_[parameter] = 1;
  ++generation_;
  return {};
}

bool VariableTable::evaluate_into(const shm::LayoutRecord& layout, shm::ProgramRef program,
                                  std::int64_t* out, Error* error) const {
  const auto ops = catalogue_.program(program);
  const ExpressionValue result =
      evaluate(ops.data(), ops.size(), {values_.data(), set_.data(), values_.size()});
  *out = result.value;
  if (result.fault == ExpressionFault::none && result.value >= 0) return true;
  std::string why = "is " + std::to_string(result.value) + ", but no extent can be negative";
  if (result.fault == ExpressionFault::unset_parameter) {
    const std::string name(catalogue_.text(parameter(result.index).name));
    why = "needs parameter \"" + name + "\", which has no value: give it one in " + config_ +
          ", or call leat_set_int(\"" + name + "\", ...) before the first write";
  } else if (result.fault != ExpressionFault::none) {
    why = std::string("cannot be computed: ") + fault_text(result.fault);
  }
  *error = Error{Status::ERROR_SHAPE, "layout \"" + std::string(catalogue_.text(layout.name)) +
                                          "\" (" + std::string(catalogue_.text(layout.where)) +
                                          "): the dimension \"" +
                                          std::string(catalogue_.text(program.text)) + "\" " + why};
  return false;
}

const VariableTable::LayoutShape* VariableTable::layout_shape(std::uint32_t index, Error* error) {
  LayoutShape& shape = layouts_[index];
  if (shape.generation == generation_) return &shape;
  const shm::LayoutRecord& layout = catalogue_.layouts()[index];
  const auto dimensions = catalogue_.dimensions_of(layout);
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const shm::DimensionRecord& dimension = dimensions[d];
    if (!dimension.varying && !evaluate_into(layout, dimension.extent, &shape.extent[d], error)) {
      return nullptr;
    }
    if (layout.has_global && !evaluate_into(layout, dimension.global, &shape.global[d], error)) {
      return nullptr;
    }
  }
  shape.generation = generation_;
  return &shape;
}

bool VariableTable::fill_extent(std::uint32_t variable, const BlockState& state,
                                const LayoutShape& layout, bool column_major, BlockShape* shape,
                                Error* error) const {
  const auto dimensions = catalogue_.dimensions_of(catalogue_.layouts()[layout_of(variable)]);
  for (std::uint32_t d = 0; d < shape->dims; ++d) {
    if (dimensions[d].varying && !state.has_extent) {
      *error = Error{Status::ERROR_SHAPE,
                     title(variable) + ": dimension " +
                         std::to_string(column_major ? shape->dims - d : d) +
                         " is \"?\": call leat_set_extent before writing this block"};
      return false;
    }
    shape->extent[d] = dimensions[d].varying ? state.extent[d] : layout.extent[d];
    const bool differs = state.has_extent && state.extent[d] != shape->extent[d];
    if (differs) {
      *error = Error{Status::ERROR_SHAPE,
                     title(variable) + ": leat_set_extent said " +
                         shape_text(state.extent.data(), shape->dims, column_major) +
                         ", but dimension " + std::to_string(column_major ? shape->dims - d : d) +
                         " is " + std::to_string(layout.extent[d]) +
                         " in the layout: only \"?\" dimensions may differ"};
      return false;
    }
  }
  return true;
}

bool VariableTable::fill_position(std::uint32_t variable, const BlockState& state,
                                  const LayoutShape& layout, bool column_major, BlockShape* shape,
                                  Error* error) const {
  const shm::LayoutRecord& record = catalogue_.layouts()[layout_of(variable)];
  shape->has_position = record.has_global != 0;
  if (!shape->has_position) return true;
  const auto dimensions = catalogue_.dimensions_of(record);
  std::array<std::int64_t, kMaxDims> own{};
  bool whole = true, inside = true, empty = false;
  for (std::uint32_t d = 0; d < shape->dims; ++d) {
    const std::int64_t ghosts = dimensions[d].ghost_low + dimensions[d].ghost_high;
    own[d] = shape->extent[d] - ghosts;
    empty = empty || own[d] <= 0;
    whole = whole && own[d] == layout.global[d];
    shape->position[d] = state.position[d];
    // Written so that no sum can overflow: extents and positions are the caller's.
    inside = inside && state.position[d] >= 0 && own[d] <= layout.global[d] &&
             state.position[d] <= layout.global[d] - own[d];
  }
  if (empty || (whole && !state.has_position)) return true;
  if (state.has_position && inside) return true;
  const std::string block = "a block of " + shape_text(own.data(), shape->dims, column_major);
  const std::string global =
      "the global " + shape_text(layout.global.data(), shape->dims, column_major);
  *error = Error{Status::ERROR_SHAPE,
                 title(variable) + ": " + block +
                     (state.has_position ? " at position " +
                                               shape_text(state.position.data(), shape->dims,
                                                          column_major, column_major ? 1 : 0) +
                                               " does not lie inside " + global
                                         : " (ghosts not counted) is not the whole of " + global +
                                               ": call leat_set_position to say where it lies")};
  return false;
}

bool VariableTable::fill_bytes(std::uint32_t variable, BlockShape* shape, Error* error) const {
  const shm::LayoutRecord& layout = catalogue_.layouts()[layout_of(variable)];
  std::uint64_t bytes = scalar_bytes(static_cast<ScalarType>(layout.type));
  for (std::uint32_t d = 0; d < shape->dims; ++d) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(shape->extent[d]), &bytes)) {
      *error =
          Error{Status::ERROR_TOO_LARGE, title(variable) + ": a block of " +
                                             shape_text(shape->extent.data(), shape->dims, false) +
                                             " has more bytes than 64 bits can count"};
      return false;
    }
  }
  shape->bytes = bytes;
  return true;
}

const BlockShape* VariableTable::compute_shape(std::uint32_t variable, BlockState& state,
                                               Error* error, bool column_major) {
  const LayoutShape* layout = layout_shape(layout_of(variable), error);
  if (!layout) return nullptr;
  BlockShape shape;
  shape.dims = catalogue_.layouts()[layout_of(variable)].dims;
  if (!fill_extent(variable, state, *layout, column_major, &shape, error) ||
      !fill_position(variable, state, *layout, column_major, &shape, error) ||
      !fill_bytes(variable, &shape, error)) {
    return nullptr;
  }
  state.shape = shape;
  state.shape_generation = generation_;
  return &state.shape;
}

}  // namespace leat::client

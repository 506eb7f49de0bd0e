// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/declared.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace leat::client {
namespace {

ParameterValue value_in(const shm::Catalogue& catalogue, const shm::ParameterRecord& record) {
  if (record.has_value == 0) return {};
  switch (record.kind) {
    case kInteger:
      return record.integer;
    case kReal:
      return record.real;
    default:
      return std::string(catalogue.text(record.text));
  }
}

}  // namespace

ParameterTable::ParameterTable(const shm::Catalogue& catalogue, std::string config)
    : config_(std::move(config)) {
  for (const shm::ParameterRecord& p : catalogue.parameters()) {
    parameters_.push_back({std::string(catalogue.text(p.name)), p.kind, value_in(catalogue, p)});
  }
  for (std::uint32_t i = 0; i < parameters_.size(); ++i) numbers_.emplace(parameters_[i].name, i);
}

std::int64_t ParameterTable::find(std::string_view name) const noexcept {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::int64_t{-1} : found->second;
}

Error ParameterTable::unknown(std::string_view name) const {
  std::vector<std::string> names;
  for (const Parameter& each : parameters_) names.push_back(each.name);
  return {Status::ERROR_UNKNOWN_NAME, config_ + " declares no parameter \"" + std::string(name) +
                                          "\"" + did_you_mean(name, names)};
}

void ParameterTable::set_steered(std::uint32_t parameter, const shm::SteeredValue& value) {
  if (parameter >= parameters_.size()) return;
  switch (parameters_[parameter].kind) {
    case kInteger:
      return set(parameter, value.integer());
    case kReal:
      return set(parameter, value.real());
    default:
      return set(parameter, std::string(value.text()));
  }
}

namespace {

constexpr const char* kExtent = "dimension";

}  // namespace

LayoutTable::LayoutTable(const shm::Catalogue& catalogue, const std::string& config)
    : catalogue_(catalogue), config_(config), layouts_(catalogue.layouts().size()) {
  for (const shm::ParameterRecord& p : catalogue_.parameters()) {
    values_.push_back(p.integer);
    set_.push_back(p.has_value != 0 && p.kind == kInteger);
  }
}

void LayoutTable::set(std::uint32_t parameter, std::int64_t value) noexcept {
  values_[parameter] = value;
  set_[parameter] = 1;
  refused_.erase(parameter);
  ++generation_;
}

void LayoutTable::refuse(std::uint32_t parameter, std::int64_t value) noexcept {
  refused_[parameter] = value;
  ++generation_;
}

bool LayoutTable::is_certain(const shm::LayoutRecord& layout, Error* error) const {
  for (const auto& [parameter, value] : refused_) {
    if (!depends_on(layout, parameter, true)) continue;
    const std::string name(catalogue_.text(catalogue_.parameters()[parameter].name));
    const std::string of_layout = "layout \"" + std::string(catalogue_.text(layout.name)) + "\" (" +
                                  std::string(catalogue_.text(layout.where)) + ")";
    *error =
        Error{Status::ERROR_SHAPE,
              of_layout + ": the size of the array is not certain, as leat_set_int(\"" + name +
                  "\", " + std::to_string(value) + ") was refused and the parameter is " +
                  std::to_string(values_[parameter]) +
                  " still; set it to that, or say varying=\"true\" in each layout that it shapes"};
    return false;
  }
  return true;
}

bool LayoutTable::depends_on(const shm::LayoutRecord& layout, std::uint32_t parameter,
                             bool with_varying) const noexcept {
  const auto uses = [&](shm::ProgramRef ref) {
    for (const ExpressionOp& op : catalogue_.program(ref)) {
      if (op.kind == ExpressionOp::parameter && op.index == parameter) return true;
    }
    return false;
  };
  for (const shm::DimensionRecord& dimension : catalogue_.dimensions_of(layout)) {
    const bool counts = dimension.varying == 0 || with_varying;
    if ((counts && uses(dimension.extent)) || uses(dimension.global)) return true;
  }
  return false;
}

bool LayoutTable::evaluate_into(const shm::LayoutRecord& layout, const char* what,
                                shm::ProgramRef program, std::int64_t* out, Error* error) const {
  const auto ops = catalogue_.program(program);
  const ExpressionValue result =
      evaluate(ops.data(), ops.size(), {values_.data(), set_.data(), values_.size()});
  *out = result.value;
  if (result.fault == ExpressionFault::none && result.value >= 0) return true;
  std::string why = "is " + std::to_string(result.value) + ", and cannot be negative";
  if (result.fault == ExpressionFault::unset_parameter) {
    const std::string name(catalogue_.text(catalogue_.parameters()[result.index].name));
    why = "needs parameter \"" + name + "\", which has no value: give it one in " + config_ +
          ", or call leat_set_int(\"" + name + "\", ...) before the first write";
  } else if (result.fault != ExpressionFault::none) {
    why = std::string("cannot be computed: ") + fault_text(result.fault);
  }
  *error = Error{Status::ERROR_SHAPE, "layout \"" + std::string(catalogue_.text(layout.name)) +
                                          "\" (" + std::string(catalogue_.text(layout.where)) +
                                          "): the " + what + " \"" +
                                          std::string(catalogue_.text(program.text)) + "\" " + why};
  return false;
}

bool LayoutTable::has_global(std::uint32_t index, const std::int64_t* extents, Error* error) const {
  const shm::LayoutRecord& layout = catalogue_.layouts()[index];
  for (const shm::DimensionRecord& each : catalogue_.dimensions_of(layout)) {
    std::int64_t here = 0;
    const std::int64_t wanted = *extents++;
    if (!evaluate_into(layout, kExtent, each.global, &here, error)) return false;
    if (here == wanted) continue;
    const std::string name(catalogue_.text(layout.name));
    *error = {Status::ERROR_SHAPE,
              "layout \"" + name + "\" (" + std::string(catalogue_.text(layout.where)) +
                  "): its global extent \"" + std::string(catalogue_.text(each.global.text)) +
                  "\" is " + std::to_string(wanted) + " for this rank, and " +
                  std::to_string(here) +
                  " for the first rank of its node: all ranks must set it to the same"};
    return false;
  }
  return true;
}

const LayoutShape* LayoutTable::shape(std::uint32_t index, Error* error) {
  LayoutShape& shape = layouts_[index];
  if (shape.generation == generation_) return &shape;
  const shm::LayoutRecord& layout = catalogue_.layouts()[index];
  if (!is_certain(layout, error)) return nullptr;
  const auto dimensions = catalogue_.dimensions_of(layout);
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const shm::DimensionRecord& dimension = dimensions[d];
    const auto into = [&](const char* what, shm::ProgramRef program, std::int64_t* out) {
      return evaluate_into(layout, what, program, out, error);
    };
    if (dimension.varying == 0) {
      if (!into(kExtent, dimension.extent, &shape.extent[d])) return nullptr;
    } else if (Error none;
               dimension.extent.count == 0 ||
               !evaluate_into(layout, kExtent, dimension.extent, &shape.extent[d], &none)) {
      shape.extent[d] = kNotKnown;
    }
    if (layout.has_global && !into(kExtent, dimension.global, &shape.global[d])) return nullptr;
  }
  shape.generation = generation_;
  return &shape;
}

// Of those that parameters give, "?n".
bool LayoutTable::knows_extents(std::uint32_t index, Error* error) const {
  const shm::LayoutRecord& layout = catalogue_.layouts()[index];
  for (const shm::DimensionRecord& each : catalogue_.dimensions_of(layout)) {
    std::int64_t extent = 0;
    if (each.varying != 0 && each.extent.count > 0 &&
        !evaluate_into(layout, kExtent, each.extent, &extent, error))
      return false;
  }
  return true;
}

bool LayoutTable::says_position(std::uint32_t index) const noexcept {
  const auto dimensions = catalogue_.dimensions_of(catalogue_.layouts()[index]);
  return !dimensions.empty() && dimensions[0].position.count > 0;
}

bool LayoutTable::position(std::uint32_t index, std::array<std::int64_t, kMaxDims>* position,
                           Error* error) const {
  const shm::LayoutRecord& layout = catalogue_.layouts()[index];
  const auto dimensions = catalogue_.dimensions_of(layout);
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    if (!evaluate_into(layout, "position", dimensions[d].position, &(*position)[d], error))
      return false;
  return true;
}

std::string shape_text(const std::int64_t* extents, std::uint32_t dims, bool column_major,
                       std::int64_t first) {
  std::string text = "(";
  for (std::uint32_t d = 0; d < dims; ++d)
    text += (d ? ", " : "") + std::to_string(extents[column_major ? dims - 1 - d : d] + first);
  return text + ")";
}

const char* familiar_name(ScalarType type) {
  switch (type) {
#define LEAT_SCALAR(id, value, name, alias, bytes, numpy) \
  case ScalarType::id:                                    \
    return *alias ? alias : name;
#include "lib/base/scalar_types.def"
#undef LEAT_SCALAR
  }
  return "unknown";
}

namespace {

std::string joined(std::vector<std::string> parts, bool reversed) {
  if (reversed) std::reverse(parts.begin(), parts.end());
  std::string text = "(";
  for (const std::string& part : parts) text += (text.size() > 1 ? ", " : "") + part;
  return text + ")";
}

}  // namespace

DeclaredVariable::DeclaredVariable(const shm::Catalogue& catalogue, std::uint32_t variable) noexcept
    : catalogue_(catalogue),
      record_(catalogue.variables()[variable]),
      layout_(catalogue.layouts()[record_.layout]),
      dimensions_(catalogue.dimensions_of(layout_)) {}

bool DeclaredVariable::has_parts_of(ScalarType type) const noexcept {
  return (this->type() == ScalarType::complex64 && type == ScalarType::float32) ||
         (this->type() == ScalarType::complex128 && type == ScalarType::float64);
}

std::string DeclaredVariable::title() const {
  return "variable \"" + std::string(catalogue_.text(record_.name)) + "\" (" +
         std::string(catalogue_.text(record_.where)) + ")";
}

bool DeclaredVariable::fill(BlockShape* shape, const LayoutShape& layout, const BlockFacts& facts,
                            bool column_major, Error* error) const {
  shape->dims = layout_.dims;
  return fill_extent(shape, layout, facts, column_major, error) &&
         fill_place(shape, layout, facts, column_major, error) && fill_bytes(shape, error);
}

bool DeclaredVariable::fill_extent(BlockShape* shape, const LayoutShape& layout,
                                   const BlockFacts& facts, bool column_major, Error* error) const {
  for (std::uint32_t d = 0; d < shape->dims; ++d) {
    const bool is_own = dimensions_[d].varying && facts.has_extent;
    shape->extent[d] = is_own ? facts.extent[d] : layout.extent[d];
    if (shape->extent[d] == kNotKnown) {
      *error = Error{Status::ERROR_SHAPE,
                     title() + ": dimension " + std::to_string(column_major ? shape->dims - d : d) +
                         " is \"?\": call leat_set_extent before writing this block"};
      return false;
    }
    const bool differs = facts.has_extent && facts.extent[d] != shape->extent[d];
    if (differs) {
      *error = Error{Status::ERROR_SHAPE,
                     title() + ": leat_set_extent said " +
                         shape_text(facts.extent.data(), shape->dims, column_major) +
                         ", but dimension " + std::to_string(column_major ? shape->dims - d : d) +
                         " is " + std::to_string(layout.extent[d]) +
                         " in the layout: only \"?\" dimensions may differ"};
      return false;
    }
  }
  return true;
}

bool DeclaredVariable::fill_place(BlockShape* shape, const LayoutShape& layout,
                                  const BlockFacts& facts, bool column_major, Error* error) const {
  if (const shm::MeshRecord* const mesh = catalogue_.amr_mesh_of(record_))
    return fill_level(shape, facts, *mesh, error);
  return layout_.has_global == 0 || fill_position(shape, layout, facts, column_major, error);
}

bool DeclaredVariable::fill_level(BlockShape* shape, const BlockFacts& facts,
                                  const shm::MeshRecord& mesh, Error* error) const {
  if (facts.level < 0) {
    const std::string name(catalogue_.text(mesh.name));
    *error =
        Error{Status::ERROR_SHAPE,
              title() + " lies on the amr mesh \"" + name + "\": call leat_set_level(\"" + name +
                  "\", ...) before writing this block, to say which level it is of and where"};
    return false;
  }
  shape->place = shm::Place::in_level;
  shape->level = static_cast<std::uint16_t>(facts.level);
  shape->position = facts.position;
  return true;
}

bool DeclaredVariable::fill_position(BlockShape* shape, const LayoutShape& layout,
                                     const BlockFacts& facts, bool column_major,
                                     Error* error) const {
  shape->place = shm::Place::in_global;
  std::array<std::int64_t, kMaxDims> own{};
  bool whole = true, inside = true, empty = false, has_ghosts = false;
  for (std::uint32_t d = 0; d < shape->dims; ++d) {
    const std::int64_t ghosts = dimensions_[d].ghost_low + dimensions_[d].ghost_high;
    own[d] = shape->extent[d] - ghosts;
    has_ghosts = has_ghosts || ghosts > 0;
    empty = empty || own[d] <= 0;
    whole = whole && own[d] == layout.global[d];
    shape->position[d] = facts.position[d];
    // Written so that no sum can overflow: extents and positions are the caller's.
    inside = inside && facts.position[d] >= 0 && own[d] <= layout.global[d] &&
             facts.position[d] <= layout.global[d] - own[d];
  }
  if (empty || (whole && !facts.has_position)) return true;
  if (facts.has_position && inside) return true;
  const std::string block = "a block of " + shape_text(own.data(), shape->dims, column_major);
  const std::string global =
      "the global " + shape_text(layout.global.data(), shape->dims, column_major);
  *error = Error{
      Status::ERROR_SHAPE,
      title() + ": " + block +
          (facts.has_position
               ? " at position " +
                     shape_text(facts.position.data(), shape->dims, column_major,
                                column_major ? 1 : 0) +
                     " does not lie inside " + global +
                     (has_ghosts ? ""
                                 : "; if it has ghost cells, declare ghosts=\"...\" in the layout")
               : " (ghosts not counted) is not the whole of " + global +
                     ": call leat_set_position to say where it lies")};
  return false;
}

bool DeclaredVariable::fill_bytes(BlockShape* shape, Error* error) const {
  std::uint64_t bytes = scalar_bytes(type());
  for (std::uint32_t d = 0; d < shape->dims; ++d) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(shape->extent[d]), &bytes)) {
      *error =
          Error{Status::ERROR_TOO_LARGE, title() + ": a block of " +
                                             shape_text(shape->extent.data(), shape->dims, false) +
                                             " has more bytes than 64 bits can count"};
      return false;
    }
  }
  shape->bytes = bytes;
  return true;
}

bool DeclaredVariable::fits(const ArrayView& array, const LayoutShape& layout) const noexcept {
  if (array.dims != layout_.dims) return false;
  for (std::uint32_t d = 0; d < array.dims; ++d) {
    const bool is_one = array.extent[d] >= 0 && (varies(d) || array.extent[d] == layout.extent[d]);
    if (!is_one) return false;
  }
  return true;
}

Error DeclaredVariable::wrong_count(const NumberList& list) const {
  std::vector<std::string> names;
  for (const auto& dimension : dimensions_) names.emplace_back(catalogue_.text(dimension.name));
  const auto counted = [](std::size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  const std::size_t dims = names.size();
  return {Status::ERROR_ARGUMENT,
          title() + " has " + counted(dims, "dimension") + " " +
              joined(std::move(names), list.column_major) + ": as many numbers are needed, and " +
              std::to_string(list.count) + (list.count == 1 ? " was given" : " were given")};
}

Error DeclaredVariable::differs(Status status, const LayoutShape* layout, const ArrayView& array,
                                const CallersWords& words) const {
  std::vector<std::string> declared, got;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const bool known = layout && !dimensions_[d].varying;
    declared.push_back(std::string(catalogue_.text(dimensions_[d].name)) + "=" +
                       (known ? std::to_string(layout->extent[d]) : "?"));
  }
  for (std::uint32_t d = 0; d < array.dims; ++d) got.push_back(std::to_string(array.extent[d]));
  const std::string type_name = words.type_name ? words.type_name : familiar_name(array.type);
  return {status, "\"" + std::string(catalogue_.text(record_.name)) + "\" is declared " +
                      familiar_name(type()) + " " + joined(declared, words.column_major) + " in " +
                      std::string(catalogue_.text(layout_.where)) + ", got " + type_name + " " +
                      joined(got, words.column_major)};
}

Error DeclaredVariable::differs(ScalarType type) const {
  const std::string declared = familiar_name(this->type());
  const std::string given = familiar_name(type);
  return {Status::ERROR_TYPE,
          "\"" + std::string(catalogue_.text(record_.name)) + "\" is declared " + declared +
              " in " + std::string(catalogue_.text(layout_.where)) + ", got an array of " + given +
              ": write one of " + declared + ", or give the layout type=\"" + given +
              "\"; a cast to const void* leaves the type unchecked"};
}

Error DeclaredVariable::has_levels() const {
  const shm::MeshRecord* const mesh = catalogue_.amr_mesh_of(record_);
  if (!mesh) return {Status::OK, ""};
  const std::string name(catalogue_.text(mesh->name));
  return {Status::ERROR_STATE, title() + " lies on the amr mesh \"" + name +
                                   "\", whose blocks have a place in a level: say it by "
                                   "leat_set_level(\"" +
                                   name + "\", ...)"};
}

Error DeclaredVariable::negative_extent(const std::int64_t* extent, bool column_major) const {
  for (std::uint32_t d = 0; d < dims(); ++d) {
    if (extent[d] >= 0) continue;
    return {Status::ERROR_ARGUMENT,
            title() + ": leat_set_extent said " + shape_text(extent, dims(), column_major) +
                ", but dimension " + std::to_string(column_major ? dims() - d : d) +
                " cannot be negative"};
  }
  return {Status::OK, ""};
}

}  // namespace leat::client

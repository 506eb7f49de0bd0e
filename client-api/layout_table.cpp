// SPDX-License-Identifier: Apache-2.0
#include "client-api/layout_table.hpp"

#include "client-api/parameter_table.hpp"

namespace leat::client {

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
    if (!depends_on(layout, parameter)) continue;
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

bool LayoutTable::depends_on(const shm::LayoutRecord& layout,
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

bool LayoutTable::evaluate_into(const shm::LayoutRecord& layout, shm::ProgramRef program,
                                std::int64_t* out, Error* error) const {
  const auto ops = catalogue_.program(program);
  const ExpressionValue result =
      evaluate(ops.data(), ops.size(), {values_.data(), set_.data(), values_.size()});
  *out = result.value;
  if (result.fault == ExpressionFault::none && result.value >= 0) return true;
  std::string why = "is " + std::to_string(result.value) + ", but no extent can be negative";
  if (result.fault == ExpressionFault::unset_parameter) {
    const std::string name(catalogue_.text(catalogue_.parameters()[result.index].name));
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

const LayoutShape* LayoutTable::shape(std::uint32_t index, Error* error) {
  LayoutShape& shape = layouts_[index];
  if (shape.generation == generation_) return &shape;
  const shm::LayoutRecord& layout = catalogue_.layouts()[index];
  if (!is_certain(layout, error)) return nullptr;
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

}  // namespace leat::client

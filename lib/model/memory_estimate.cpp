// SPDX-License-Identifier: Apache-2.0
#include "lib/model/memory_estimate.hpp"

#include "lib/model/integer_values.hpp"

namespace leat::model {
namespace {

constexpr std::uint64_t kTooMany = UINT64_MAX;

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return __builtin_add_overflow(a, b, &a) ? kTooMany : a;
}

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  return __builtin_mul_overflow(a, b, &a) ? kTooMany : a;
}

// "" and the extent in `value`, or why the extent is unknown.
std::string extent_of(const Model& model, const Dimension& dimension, const IntegerValues& known,
                      std::int64_t& value) {
  if (dimension.varying) return "extent of " + dimension.name + " is given at run time";
  const ExpressionValue result = known.evaluate(dimension.extent);
  value = result.value;
  switch (result.fault) {
    case ExpressionFault::none:
      break;
    case ExpressionFault::unset_parameter:
      return "parameter " + model.parameters[result.index].name + " is set by the simulation";
    case ExpressionFault::division_by_zero:
    case ExpressionFault::overflow:
    case ExpressionFault::malformed:
      return "\"" + dimension.extent.text + "\" gives " + fault_text(result.fault);
  }
  if (value >= 0) return "";
  return "\"" + dimension.extent.text + "\" is negative: " + std::to_string(value);
}

VariableEstimate estimate(const Model& model, std::uint32_t index, const IntegerValues& known) {
  VariableEstimate result{index, std::nullopt, ""};
  const Layout& layout = model.layouts[model.variables[index].layout];
  std::uint64_t bytes = scalar_bytes(layout.type);
  bool empty = false;
  for (const Dimension& dimension : layout.dimensions) {
    std::int64_t extent = 0;
    result.why_unknown = extent_of(model, dimension, known, extent);
    if (!result.why_unknown.empty()) return result;
    empty = empty || extent == 0;
    bytes = multiply(bytes, static_cast<std::uint64_t>(extent));
  }
  result.bytes_per_rank = empty ? 0 : bytes;
  return result;
}

}  // namespace

MemoryEstimate estimate_memory(const Model& model, std::int64_t ranks_per_node,
                               const std::vector<std::optional<std::int64_t>>& overrides) {
  const IntegerValues known(model.parameters, overrides);
  MemoryEstimate result;
  result.buffer_bytes = model.architecture.buffer_bytes;
  for (std::uint32_t i = 0; i < model.variables.size(); ++i) {
    result.variables.push_back(estimate(model, i, known));
    const std::uint64_t bytes = result.variables.back().bytes_per_rank.value_or(0);
    result.known_bytes_per_rank = add(result.known_bytes_per_rank, bytes);
  }
  const auto ranks = static_cast<std::uint64_t>(ranks_per_node > 0 ? ranks_per_node : 0);
  result.known_bytes_per_node = multiply(result.known_bytes_per_rank, ranks);
  return result;
}

}  // namespace leat::model

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

VariableEstimate estimate(const Model& model, std::uint32_t index, const IntegerValues& known,
                          BytesInSegment* in_segment) {
  VariableEstimate result;
  result.variable = index;
  result.taken = model.scripts.exist() || !model.variables[index].stores.empty();
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
  MemoryEstimate result;
  result.buffer_bytes = model.architecture.buffer_bytes;
  for (std::uint32_t i = 0; i < model.variables.size(); ++i) {
    result.variables.push_back(estimate(model, i, known, in_segment));
    const VariableEstimate& last = result.variables.back();
    const std::uint64_t bytes = last.taken ? last.segment_bytes_per_rank : 0;
    result.known_bytes_per_rank = add(result.known_bytes_per_rank, bytes);
  }
  const auto ranks = static_cast<std::uint64_t>(ranks_per_node > 0 ? ranks_per_node : 0);
  result.known_bytes_per_node = multiply(result.known_bytes_per_rank, ranks);
  return result;
}

}  // namespace leat::model

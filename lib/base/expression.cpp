// SPDX-License-Identifier: Apache-2.0
#include "lib/base/expression.hpp"

namespace leat {
namespace {

ExpressionFault apply(std::uint32_t kind, std::int64_t a, std::int64_t b,
                      std::int64_t* out) noexcept {
  constexpr auto fault_if = [](bool bad, ExpressionFault fault) {
    return bad ? fault : ExpressionFault::none;
  };
  switch (kind) {
    case ExpressionOp::add:
      return fault_if(__builtin_add_overflow(a, b, out), ExpressionFault::overflow);
    case ExpressionOp::subtract:
      return fault_if(__builtin_sub_overflow(a, b, out), ExpressionFault::overflow);
    case ExpressionOp::multiply:
      return fault_if(__builtin_mul_overflow(a, b, out), ExpressionFault::overflow);
    case ExpressionOp::divide:
    case ExpressionOp::modulo:
      if (b == 0) return ExpressionFault::division_by_zero;
      if (a == INT64_MIN && b == -1) return ExpressionFault::overflow;
      *out = kind == ExpressionOp::divide ? a / b : a % b;
      return ExpressionFault::none;
  }
  return ExpressionFault::malformed;
}

}  // namespace

ExpressionValue evaluate(const ExpressionOp* ops, std::size_t count,
                         const ParameterValues& parameters) noexcept {
  std::int64_t stack[kMaxExpressionDepth];
  std::size_t depth = 0;
  const auto fail = [](ExpressionFault fault, std::uint32_t index = 0) {
    return ExpressionValue{0, fault, index};
  };
  for (std::size_t i = 0; i < count; ++i) {
    const ExpressionOp op = ops[i];
    if (op.kind == ExpressionOp::constant || op.kind == ExpressionOp::parameter) {
      if (depth == kMaxExpressionDepth) return fail(ExpressionFault::malformed);
      std::int64_t value = op.value;
      if (op.kind == ExpressionOp::parameter) {
        if (op.index >= parameters.count) return fail(ExpressionFault::malformed);
        if (!parameters.set[op.index]) return fail(ExpressionFault::unset_parameter, op.index);
        value = parameters.values[op.index];
      }
      stack[depth++] = value;
      continue;
    }
    const bool unary = op.kind == ExpressionOp::negate;
    if (depth < (unary ? 1u : 2u)) return fail(ExpressionFault::malformed);
    const std::int64_t b = stack[--depth];
    const std::int64_t a = unary ? 0 : stack[--depth];
    const std::uint32_t kind = unary ? ExpressionOp::subtract : op.kind;
    const ExpressionFault fault = apply(kind, a, b, &stack[depth++]);
    if (fault != ExpressionFault::none) return fail(fault);
  }
  if (depth != 1) return fail(ExpressionFault::malformed);
  return ExpressionValue{stack[0], ExpressionFault::none, 0};
}

const char* fault_text(ExpressionFault fault) noexcept {
  switch (fault) {
    case ExpressionFault::none:
      return "no fault";
    case ExpressionFault::unset_parameter:
      return "a parameter has no value";
    case ExpressionFault::division_by_zero:
      return "division by zero";
    case ExpressionFault::overflow:
      return "overflow of a 64-bit integer";
    case ExpressionFault::malformed:
      return "malformed expression program";
  }
  return "unknown fault";
}

}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
// Compiled integer expressions over parameters: "ny/py+2" as a postfix program.
// Plain data without pointers, so that the server can publish it in the segment and a client can evaluate it.
// The parser is in lib/model/expression_parser.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat {

struct ExpressionOp {
  enum Kind : std::uint32_t {
    constant,
    parameter,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    negate
  };
  std::uint32_t kind;
  std::uint32_t index;  ///< of the parameter, for Kind::parameter
  std::int64_t value;   ///< for Kind::constant
};

/// Deeper expressions are refused by the parser.
inline constexpr std::size_t kMaxExpressionDepth = 32;

enum class ExpressionFault : std::uint32_t {
  none,
  unset_parameter,  ///< `index` says which
  division_by_zero,
  overflow,  ///< outside of int64
  malformed  ///< no program of ours: stack underflow, unknown op, parameter out of range
};

struct ExpressionValue {
  std::int64_t value = 0;
  ExpressionFault fault = ExpressionFault::none;
  std::uint32_t index = 0;
};

/// The integer parameters of one process: values[i] counts only where set[i] is not 0.
struct ParameterValues {
  const std::int64_t* values;
  const std::uint8_t* set;
  std::size_t count;
};

/// Evaluates `count` ops. Division truncates towards zero and `%` has the sign of the dividend, as in C and Fortran.
/// Never reads outside of its arguments, whatever the program says.
ExpressionValue evaluate(const ExpressionOp* ops, std::size_t count,
                         const ParameterValues& parameters) noexcept;

/// One sentence part for a message: "division by zero".
const char* fault_text(ExpressionFault fault) noexcept;

}  // namespace leat

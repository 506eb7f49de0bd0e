// SPDX-License-Identifier: Apache-2.0
// "ny/py+2" to the postfix program of lib/base/expression.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

struct ParsedExpression {
  std::vector<ExpressionOp> program;  ///< empty on failure
  std::string problem;     ///< empty on success; names the nearest parameter where one is unknown
  std::size_t column = 0;  ///< where the problem begins in the text, from 1
};

/// sum := product { (+|-) product } ; product := factor { (*|/|%) factor } ; factor := { - }
/// (number | name | ( sum )). Whole numbers are of 64 bits; indices in the program are those of
/// `parameters`, of which only integers may be named. Safe against hostile text: nesting and the
/// depth of the program are bounded by kMaxExpressionDepth.
ParsedExpression parse_expression(std::string_view text, const std::vector<Parameter>& parameters);

/// `column 1 of "ny2/py": unknown parameter "ny2"; did you mean "ny"?`
std::string problem_text(const ParsedExpression& parsed, std::string_view text);

}  // namespace leat::model

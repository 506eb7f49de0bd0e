// SPDX-License-Identifier: Apache-2.0
// "ny/py+2" to the postfix program of lib/base/expression.hpp, and the integers that are known before the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

// The integer parameters that are known before the run, in the form in which expressions are
// evaluated.
class IntegerValues {
 public:
  using Overrides = std::vector<std::optional<std::int64_t>>;

  explicit IntegerValues(const std::vector<Parameter>& parameters, const Overrides& overrides = {})
      : values_(parameters.size()), set_(parameters.size()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].kind != Parameter::Kind::integer) continue;
      const bool overridden = i < overrides.size() && overrides[i];
      values_[i] = overridden ? *overrides[i] : as_integer(parameters[i].value);
      set_[i] = overridden || is_set(parameters[i].value);
    }
  }

  ExpressionValue evaluate(const Expression& expression) const {
    return leat::evaluate(expression.program.data(), expression.program.size(),
                          {values_.data(), set_.data(), values_.size()});
  }

 private:
  std::vector<std::int64_t> values_;
  std::vector<std::uint8_t> set_;
};

// "ny/py+2" to the postfix program of lib/base/expression.hpp.
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

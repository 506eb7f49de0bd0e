// SPDX-License-Identifier: Apache-2.0
// The integer parameters that are known before the run, in the form in which expressions are
// evaluated.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

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

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// Parameters that ranks have set differently, where the server takes the value of its first rank for all of a field: a part of an array, an
// expression, a condition, the place of a mesh.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "lib/model/model.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

class DifferingParameters {
 public:
  explicit DifferingParameters(const model::Model& model);

  /// A rank has set it in its iteration. Says so where another rank has set it otherwise in that; once for each parameter.
  std::optional<Finding> note(std::int64_t iteration, std::int32_t rank, std::uint32_t parameter,
                              const ParameterValue& value);
  /// All ranks have ended this one, and those before it.
  void forget(std::int64_t iteration);

 private:
  struct Set {
    std::int32_t rank = 0;
    ParameterValue value;
  };

  const model::Model& model_;
  std::map<std::uint32_t, std::uint32_t> used_;  // parameters, and a variable that needs each
  std::map<std::pair<std::int64_t, std::uint32_t>, Set> first_;  // by iteration and parameter
};

}  // namespace leat::server

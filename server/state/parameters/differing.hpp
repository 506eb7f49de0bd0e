// SPDX-License-Identifier: Apache-2.0
// Parameters that ranks have set differently, where the server takes the value of its lowest rank for all that is made: in expr="..." and
// select="..."; it does not look at conditions, nor at places of meshes.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lib/model/model.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

class DifferingParameters {
 public:
  explicit DifferingParameters(const model::Model& model);

  /// A rank has set it in its iteration; what it sets last counts.
  void note(std::int64_t iteration, std::int32_t rank, std::uint32_t parameter,
            const ParameterValue& value);
  /// All ranks have ended this one, and those before it: what they have set differently, once for each parameter.
  std::vector<Finding> ended(std::int64_t iteration);

 private:
  using ByRank = std::map<std::int32_t, ParameterValue>;

  const model::Model& model_;
  std::map<std::uint32_t, std::uint32_t> used_;  // parameters, and a variable that needs each
  std::map<std::pair<std::int64_t, std::uint32_t>, ByRank> set_;  // by iteration and parameter
};

}  // namespace leat::server

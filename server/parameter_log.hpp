// SPDX-License-Identifier: Apache-2.0
// Values of parameters at each iteration, as the node's first rank had them when it ended it: ranks
// may be ahead of what is being analysed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/iteration_tracker.hpp"

namespace leat::server {

class ParameterLog {
 public:
  explicit ParameterLog(const model::Model& model);

  void set(std::uint32_t parameter, ParameterValue value);
  /// The parameter is steered to `value`, as text, from this iteration on; no rank is there yet.
  void steer(std::int64_t iteration, const std::string& parameter, const std::string& value);
  void iteration_ended(std::int64_t iteration);
  /// Of this iteration; forgets those before it. The latest when the rank has not come so far.
  std::vector<ParameterValue> take(std::int64_t iteration);

 private:
  struct Steered {
    std::uint32_t parameter;
    ParameterValue value;
  };

  const model::Model& model_;
  std::multimap<std::int64_t, Steered> steered_;  // by the iteration that it begins in
  std::vector<ParameterValue> now_;
  std::map<std::int64_t, std::vector<ParameterValue>> ended_;
};

}  // namespace leat::server

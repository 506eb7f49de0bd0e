// SPDX-License-Identifier: Apache-2.0
// Values of parameters at each iteration, as the node's first rank had them when it ended it: ranks
// may be ahead of what is being analysed.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/model/model.hpp"
#include "server/iteration_tracker.hpp"

namespace leat::server {

class ParameterLog {
 public:
  explicit ParameterLog(const model::Model& model);

  void set(std::uint32_t parameter, ParameterValue value);
  void iteration_ended(std::int64_t iteration) {
    if (!now_.empty()) ended_[iteration] = now_;
  }
  /// Of this iteration; forgets those before it. The latest when the rank has not come so far.
  std::vector<ParameterValue> take(std::int64_t iteration);

 private:
  std::vector<ParameterValue> now_;
  std::map<std::int64_t, std::vector<ParameterValue>> ended_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The time of the run from one iteration to the next, as the simulation says it. It is kept beside the sums: a server that takes over goes
// on with it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "lib/model/model.hpp"
#include "server/derive/periods.hpp"
#include "server/derive/sums.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class RunClock {
 public:
  RunClock(const model::Model& model, std::shared_ptr<Log> log)
      : model_(model), log_(std::move(log)) {}

  /// `said`: the time at the end of the iteration. One that goes back, or is none, stands still: what comes until it is passed takes no time.
  TimeStep step_of(std::int64_t iteration, double said, const Sums& sums);

 private:
  void warn(std::int64_t iteration, double said, const ClockSlot* before);

  const model::Model& model_;
  std::shared_ptr<Log> log_;
  std::set<std::string> said_;
};

/// What a value of this step counts in means. That of the first step of the run is 1.
double weight_of(const TimeStep& step);

}  // namespace leat::server

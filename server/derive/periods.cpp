// SPDX-License-Identifier: Apache-2.0
#include "server/derive/periods.hpp"

namespace leat::server {

InPeriods Periods::of(std::uint32_t period, const TimeStep& step) const {
  const std::int64_t length = model_.periods[period].iterations;
  const std::int64_t first = step.iteration / length * length;
  InPeriods in;
  in.window = {static_cast<double>(first), static_cast<double>(first + length - 1)};
  in.is_over = step.iteration == first + length - 1;
  return in;
}

bool Periods::is_due(std::uint32_t period, const TimeStep& step) const {
  return step.iteration % model_.periods[period].iterations == 0;
}

}  // namespace leat::server

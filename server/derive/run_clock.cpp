// SPDX-License-Identifier: Apache-2.0
#include "server/derive/run_clock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/os/clock.hpp"

namespace leat::server {

TimeStep RunClock::step_of(std::int64_t iteration, double said, const Sums& sums) {
  TimeStep step;
  step.iteration = iteration;
  const SlotPair<ClockSlot> clock = begin_slot(sums.clock(), iteration);
  const ClockSlot* const before = clock.before;
  const bool knows_before = before && (before->has_time != 0 || !model_.time);
  warn(iteration, said, knows_before ? before : nullptr);
  const bool is_said = std::isfinite(said);
  step.has_time = model_.time && (is_said || (knows_before && before->has_time != 0));
  step.time = is_said ? said : static_cast<double>(iteration);
  if (step.has_time && knows_before)
    step.time = is_said ? std::max(said, before->time) : before->time;
  const double wall = static_cast<double>(os::now_ns()) / 1e9;
  if (!clock.now) return step;
  ClockSlot& now = *clock.now;
  if (!clock.is_done) {
    now.is_first = knows_before ? 0 : 1;
    now.has_time = step.has_time ? 1 : 0;
    now.time = step.time;
    now.before = knows_before ? before->time : step.time;
    now.length_before = knows_before ? before->length : 0;
    now.length = step.time - now.before;
    now.origin = knows_before ? before->origin : step.time;
    now.step = knows_before && before->step > 0 ? before->step : step.has_time ? now.length : 0;
    now.wall = wall;
    now.wall_begin = before ? before->wall_begin : wall;
    now.wall_before = before ? before->wall : wall;
    now.number.store(iteration + 1);
  }
  step.time = now.time;
  step.before = now.before;
  step.length_before = now.length_before;
  step.is_first = now.is_first != 0;
  step.origin = now.origin;
  step.usual = now.step;
  step.wall = now.wall - now.wall_begin;
  step.wall_before = now.wall_before - now.wall_begin;
  return step;
}

void RunClock::warn(std::int64_t iteration, double said, const ClockSlot* before) {
  if (!model_.time) return;
  if (!std::isfinite(said) && said_.insert("no time").second)
    log_->warn(
        "iteration {}: the simulation says no time, or one that is no number: the iteration takes "
        "no time, and nothing is due by it",
        iteration);
  if (std::isfinite(said) && before && said <= before->time && said_.insert("time").second)
    log_->warn(
        "iteration {}: the time {} does not come after {}: until it does iterations take no time, "
        "and have no weight in means",
        iteration, said, before->time);
}

// Times are sums, and rounded: steps that differ by no more than that are alike.
double weight_of(const TimeStep& step) {
  if (!step.has_time || step.is_first) return 1;
  const double own = step.time - step.before;
  if (own <= 0 || step.usual <= 0) return own > 0 ? 1 : 0;
  const double rounding = 8 * std::numeric_limits<double>::epsilon() *
                          std::max(std::fabs(step.time), std::fabs(step.before));
  return std::fabs(own - step.usual) <= rounding ? 1 : own / step.usual;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/derive/periods.hpp"

#include <limits>

namespace leat::server {
namespace {

using Clock = model::Every::Clock;

}  // namespace

const model::Marks& Periods::marks_of(std::uint32_t period, const TimeStep& step) {
  if (!marks_.empty()) return marks_[period];
  const model::Calendar calendar = model_.time
                                       ? model::Calendar(model_.time->unit, model_.time->calendar)
                                       : model::Calendar("s", "standard");
  for (const model::Every& every : model_.periods)
    marks_.emplace_back(every, calendar, every.clock == Clock::simulation ? step.origin : 0);
  return marks_[period];
}

// An iteration is the step from its number to the next one: the last of a period ends at a mark.
InPeriods Periods::of(std::uint32_t period, const TimeStep& step) {
  const Clock clock = model_.periods[period].clock;
  if (clock == Clock::last || clock == Clock::run) return of_run(clock == Clock::run, step);
  const model::Marks& marks = marks_of(period, step);
  if (clock == Clock::simulation) return by_time(marks, step);
  const auto first = static_cast<double>(step.iteration);
  const model::Marks::Step in_marks = marks.window_of(first, first + 1);
  InPeriods in;
  in.window = {in_marks.begin, in_marks.end - 1};
  in.is_over = in_marks.is_at_end;
  return in;
}

// `counts`: iterations have weight; then the state that a run begins with, at time 0, is in none, as of other periods.
InPeriods Periods::of_run(bool counts, const TimeStep& step) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  InPeriods in;
  in.window = {-kInfinity, kInfinity};
  in.is_over = step.is_end;
  in.by_time = counts && model_.time;
  in.is_none = in.by_time && (!step.has_time || (step.is_first && step.time == 0));
  return in;
}

InPeriods Periods::by_time(const model::Marks& marks, const TimeStep& step) const {
  InPeriods in;
  in.by_time = true;
  in.is_none = !step.has_time || (step.is_first && marks.reached(step.time, 0) == step.time);
  if (in.is_none) return in;
  const model::Marks::Step in_marks = marks.window_of(step.before, step.time);
  in.window = {in_marks.begin, in_marks.end};
  in.is_over = in_marks.is_at_end;
  in.share = in_marks.last_part;
  if (in_marks.first_end == in_marks.end) return in;
  in.ended = Window{marks.reached(step.before, step.time - step.before), in_marks.first_end};
  in.share_before = in_marks.first_part;
  return in;
}

bool Periods::is_due(std::uint32_t period, const TimeStep& step) {
  const model::Marks& marks = marks_of(period, step);
  const auto number = static_cast<double>(step.iteration);
  switch (model_.periods[period].clock) {
    case Clock::iterations:
      return marks.last_at_or_before(number) == number;
    case Clock::simulation:
      if (!step.has_time) return false;
      if (step.is_first) return marks.reached(step.time, 0) == step.time;
      return marks.reached(step.time, step.time - step.before) >
             marks.reached(step.before, step.length_before);
    case Clock::wall:
      return !step.is_first &&
             marks.last_at_or_before(step.wall) > marks.last_at_or_before(step.wall_before);
    case Clock::first:
      return step.is_first;
    case Clock::last:
    case Clock::run:
      return false;
  }
  return false;
}

}  // namespace leat::server

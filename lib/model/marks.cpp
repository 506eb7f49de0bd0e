// SPDX-License-Identifier: Apache-2.0
// The moments at which something that is done every so often is due.
#include "lib/model/marks.hpp"

#include <algorithm>
#include <cmath>

namespace leat::model {
namespace {

constexpr double kNoMark = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-6;  // of a step

__extension__ using Wide = __int128;

Wide greatest_divisor(Wide one, Wide other) {
  while (other != 0) {
    const Wide rest = one % other;
    one = other;
    other = rest;
  }
  return one < 0 ? -one : one;
}

Wide power_of_ten(int exponent) {
  constexpr Wide kBase = 10;
  Wide power = 1;
  for (int i = 0; i < exponent; ++i) power *= kBase;
  return power;
}

// Their order of size is that of a step: a tolerance is 0 where the step is none.
double tolerance_of(double step) { return std::isfinite(step) && step > 0 ? step * kTolerance : 0; }

bool is_step(double before, double now) {
  return std::isfinite(before) && std::isfinite(now) && before < now;
}

// What part of the step (before, now] is (from, to].
double part_of(double from, double to, double before, double now) {
  const long double step = static_cast<long double>(now) - static_cast<long double>(before);
  const long double part = static_cast<long double>(to) - static_cast<long double>(from);
  return static_cast<double>(std::fmin(std::fmax(part / step, 0.0L), 1.0L));  // 0 for no number
}

}  // namespace

std::string why_no_marks(const Every& every, const Calendar& calendar) {
  if (every.clock != Every::Clock::simulation) return "";
  const auto in_months = [](const Period& period) { return period.unit && period.unit->months; };
  const bool needs_dates =
      std::any_of(every.phases.begin(), every.phases.end(), [&](const Every::Phase& phase) {
        return in_months(phase.period) || (phase.length && in_months(*phase.length));
      });
  const std::string text = "\"" + to_text(every) + "\"";
  if (!calendar.seconds_per_unit())
    return text +
           " is a time, and the unit of <time> is none; give it one like unit=\"s\" or "
           "unit=\"days since 2000-01-01\"";
  if (needs_dates && !calendar.has_dates())
    return text +
           " needs dates, and <time> has none; give it a unit like unit=\"days since "
           "2000-01-01\" and a calendar, or write days, like \"30 d\"";
  return "";
}

MarksOfPeriod::MarksOfPeriod(const Period& period, Every::Clock clock, const Calendar& calendar)
    : calendar_(calendar) {
  if (period.unit && period.unit->months != 0) {
    months_ = calendar.has_dates() ? period.count * period.unit->months : 0;
    return;
  }
  constexpr Wide kSecond = 1'000'000;
  const bool is_simulation = clock == Every::Clock::simulation;
  const Wide scale = power_of_ten(period.decimals);
  const Wide unit_length = period.unit ? period.unit->microseconds : 1;
  const Wide time_unit = is_simulation ? calendar.microseconds_per_unit() : kSecond;
  const Wide step = period.count * unit_length;
  const Wide unit = (period.unit ? time_unit : 1) * scale;
  const Wide first = is_simulation ? calendar.first_midnight() * scale : 0;
  if (unit == 0 || step <= 0) return;
  const Wide divisor = greatest_divisor(greatest_divisor(step, unit), first);
  first_ = static_cast<long double>(first / divisor);
  step_ = static_cast<long double>(step / divisor);
  unit_ = static_cast<long double>(unit / divisor);
}

double MarksOfPeriod::mark(std::int64_t number) const {
  constexpr long double kExact = 9'007'199'254'740'992.0L;  // 2^53
  const long double at = first_ + static_cast<long double>(number) * step_;
  // A quotient of two doubles is rounded once.
  if (std::fabs(at) <= kExact && unit_ <= kExact)
    return static_cast<double>(at) / static_cast<double>(unit_);
  return static_cast<double>(at / unit_);
}

MarksOfPeriod::Around MarksOfPeriod::around_in_months(double time) const {
  const auto month = calendar_.month_of(time);
  if (!month) return {kNoMark, kNoMark};
  const std::int64_t first = calendar_.first_month();
  const std::int64_t number = floored_quotient(*month - first, months_);
  const auto begin = [&](std::int64_t each) {
    return calendar_.begin_of_month(first + each * months_).value_or(kNoMark);
  };
  return {begin(number), begin(number + 1)};
}

MarksOfPeriod::Around MarksOfPeriod::around(double time) const {
  if (!std::isfinite(time)) return {kNoMark, kNoMark};
  if (months_ != 0) return around_in_months(time);
  if (step_ == 0) return {kNoMark, kNoMark};
  constexpr long double kMostNumber = 2'251'799'813'685'248.0L;  // 2^51
  const double after_time = std::nextafter(time, kInfinity);
  const long double at = (static_cast<long double>(time) * unit_ - first_) / step_;
  if (!(std::fabs(at) < kMostNumber)) return {time, after_time};
  auto number = static_cast<std::int64_t>(std::floor(at));
  // Off by one at most, by the rounding of `at`.
  if (mark(number) > time) --number;
  if (mark(number + 1) <= time) ++number;
  const double last = mark(number), next = mark(number + 1);
  return {last <= time ? last : time, next > time ? next : after_time};
}

double MarksOfPeriod::last_at_or_before(double time) const { return around(time).last; }
double MarksOfPeriod::next_after(double time) const { return around(time).next; }

double MarksOfPeriod::later(double time) const {
  if (months_ != 0) return calendar_.months_later(time, months_).value_or(kInfinity);
  if (step_ == 0) return kInfinity;
  const double end = time + static_cast<double>(step_ / unit_);
  return std::isnan(end) ? kInfinity : end;
}

Marks::Marks(const Every& every, const Calendar& calendar, double origin) {
  for (const Every::Phase& phase : every.phases) {
    Phase& made = phases_.emplace_back(Phase{{phase.period, every.clock, calendar}});
    if (!phase.length) continue;
    made.end = origin = MarksOfPeriod(*phase.length, every.clock, calendar).later(origin);
  }
}

double Marks::last_at_or_before(double time) const {
  std::size_t at = 0;
  while (at + 1 < phases_.size() && time > phases_[at].end) ++at;
  for (; at < phases_.size(); --at) {
    const double mark = phases_[at].marks.last_at_or_before(time);
    if (at == 0 || !(mark <= phases_[at - 1].end)) return mark;
    time = phases_[at - 1].end;
  }
  return kNoMark;
}

double Marks::next_after(double time) const {
  std::size_t at = 0;
  while (at + 1 < phases_.size() && time >= phases_[at].end) ++at;
  for (; at < phases_.size(); ++at) {
    const double mark = phases_[at].marks.next_after(time);
    if (!(mark > phases_[at].end)) return mark;
    time = phases_[at].end;
  }
  return kNoMark;
}

double Marks::reached(double time, double step) const {
  const double next = next_after(time);
  return next - time < tolerance_of(step) ? next : last_at_or_before(time);
}

bool Marks::passed(double before, double now) const {
  if (!is_step(before, now)) return false;
  const double step = now - before;
  return reached(now, step) > reached(before, step);
}

double Marks::nearest(double time, double tolerance) const {
  const double last = last_at_or_before(time), next = next_after(time);
  const bool is_next = !(time - last <= next - time);
  const double mark = is_next ? next : last;
  return std::fabs(mark - time) < tolerance || mark == time ? mark : kNoMark;
}

Marks::Step Marks::window_of(double before, double now) const {
  const double tolerance = is_step(before, now) ? tolerance_of(now - before) : 0;
  const double mark_at_now = nearest(now, tolerance);
  Step step{};
  step.is_at_end = !std::isnan(mark_at_now);
  step.end = step.is_at_end ? mark_at_now : next_after(now);
  step.begin = last_at_or_before(std::nextafter(step.end, -kInfinity));
  step.first_end = step.end;
  step.last_part = 1;
  if (!is_step(before, now)) return step;
  const double mark_before = nearest(before, tolerance);
  const double first_end = next_after(std::isnan(mark_before) ? before : mark_before);
  if (!(first_end < step.end)) return step;
  step.first_end = first_end;
  step.first_part = part_of(before, first_end, before, now);
  step.last_part = part_of(step.begin, now, before, now);
  return step;
}

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// The moments at which something that is done every so often is due, and how steps of time lie to them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lib/model/calendar.hpp"
#include "lib/model/every.hpp"

namespace leat::model {

/// Why there are no marks of such a period in such a time, and what to write; "" when there are.
std::string why_no_marks(const Every& every, const Calendar& calendar);

/// The marks of one period. Each is computed from its number, never by adding up: the double nearest
/// to it, but for numbers beyond 2^53.
class MarksOfPeriod {
 public:
  MarksOfPeriod(const Period& period, Every::Clock clock, const Calendar& calendar);

  double last_at_or_before(double time) const;
  double next_after(double time) const;
  /// Where a length of this period that begins at `time` ends; infinity where that is not known.
  double later(double time) const;

 private:
  struct Around {
    double last, next;
  };
  Around around(double time) const;
  Around around_in_months(double time) const;
  double mark(std::int64_t number) const;

  Calendar calendar_;
  std::int64_t months_ = 0;  // 0: mark n is at (first_ + n * step_) / unit_
  long double first_ = 0, step_ = 0, unit_ = 0;
};

/// Marks lie where the calendar has borders: with dates, periods of fixed length are counted from
/// 00:00 (UTC) of the date of the unit, so that "6 h" and "1 d" have one at each midnight and "5 d"
/// one at that date; months from January of its year, so "1 mo" has one on the first day of each month
/// at 00:00, "3 mo" each quarter and "1 y" on each January 1st. Without dates, and of iterations (the
/// time is the number of the iteration) and of the wall clock (the time is in seconds), they are
/// multiples of the period. Phases begin at `origin`: the first one is also what was before it, and
/// a mark at the very end of a phase is one of that phase.
///
/// For any double, all in a bounded time: of a time that is no number or infinite, where
/// why_no_marks() says why, and of "first" and "last", the marks are NaN and none is passed. So it is
/// for months beyond the dates that a Calendar knows. Where marks are closer to each other than
/// doubles are, each double is one.
class Marks {
 public:
  Marks(const Every& every, const Calendar& calendar, double origin);

  double last_at_or_before(double time) const;
  double next_after(double time) const;

  /// The last mark that `time` has reached. Times are sums of steps, and rounded: one that lacks less
  /// than a millionth of the step that led to it counts as at the mark.
  double reached(double time, double step) const;

  /// Whether a mark is in (before, now], both as reached() sees them. Where steps change their length
  /// from one to the next, one who keeps the last reached() and compares counts each mark once for sure.
  /// False for a time that stands still or goes back.
  bool passed(double before, double now) const;

  /// Where the step (before, now] lies.
  struct Step {
    double begin, end;  ///< the window that it ends in; ending at a mark it ends that window
    bool is_at_end;     ///< now is at `end`, by less than a millionth of the step
    double first_end;   ///< the end of the window that it begins in: `end` when that is the same
    double
        first_part;  ///< what part of the step lies in that window when it is not the last; else 0
    double last_part;  ///< what part lies in the last one: 1 when it lies in no other
  };
  /// Parts are of 1; what they lack to 1 lies in windows between. Of a time that stands still or
  /// goes back: the window of `now`, and 1 of it.
  Step window_of(double before, double now) const;

 private:
  struct Phase {
    MarksOfPeriod marks;
    double end = std::numeric_limits<double>::infinity();
  };

  double nearest(double time, double tolerance) const;

  std::vector<Phase> phases_;
};

}  // namespace leat::model

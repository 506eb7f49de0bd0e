// SPDX-License-Identifier: Apache-2.0
// What <time> says of the time of the simulation: how long its unit is, and which date each time is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/model/days.hpp"

namespace leat::model {

/// A date in UTC. Years as cftime has them: "standard" and "julian" have no year 0, -1 is before 1.
struct Date {
  std::int64_t year = 1;
  int month = 1, day = 1;
  int second = 0;       ///< of the day
  double fraction = 0;  ///< of that second, below 1

  bool operator==(const Date&) const = default;
};

/// "2000-02-29 06:00:00", with the fraction where there is one.
std::string to_text(const Date& date);

enum class Span { day, month, year };

/// Of a unit like "s" or "days since 2000-01-01 06:00 +1:00" and a calendar of the CF conventions.
/// Functions that answer nothing do so without dates, for what is no number, and for dates more than
/// kMostSeconds from that of the unit. A time that is the double nearest to a whole second is at it.
class Calendar {
 public:
  static constexpr std::int64_t kMostSeconds = std::int64_t{1} << 43;  // 278,000 years

  Calendar(const std::string& unit, const std::string& calendar);

  /// Not without a date in the unit, with the calendar "none", and where why_no_date() says why.
  bool has_dates() const { return zero_.has_value(); }
  CalendarKind kind() const { return kind_; }
  /// How long one of the unit is; nothing where the unit is no unit of time.
  std::optional<double> seconds_per_unit() const;
  /// The same, exactly; 0 for nothing.
  std::int64_t microseconds_per_unit() const { return unit_; }

  std::optional<Date> date_of(double time) const;
  std::optional<double> time_of(const Date& date) const;

  /// The begin of the day, month or year that the time is in, and of the next one.
  std::optional<double> begin_of(Span span, double time) const;
  std::optional<double> next(Span span, double time) const;
  /// The same day and time of day n months later, or earlier; the last day of a month that has no
  /// such day, and after a gap the first day behind it.
  std::optional<double> months_later(double time, std::int64_t months) const;

  /// Months are counted from January of year 0, a year that all calendars have here.
  std::optional<std::int64_t> month_of(double time) const;
  std::optional<double> begin_of_month(std::int64_t month) const;
  /// January of the year of the unit's date.
  std::int64_t first_month() const { return zero_ ? zero_->day.year * 12 : 0; }
  /// 00:00 of the unit's date, as it stands there, in microseconds from time 0.
  std::int64_t first_midnight() const;

 private:
  // A moment in UTC; seconds are counted from the begin of day number 0.
  struct Moment {
    std::int64_t second = 0;
    double fraction = 0;
  };
  // What the unit says that is time 0.
  struct Zero {
    Day day;
    std::int64_t second = 0;
    int microsecond = 0;
  };

  std::optional<Moment> moment_of(double time) const;
  std::optional<double> time_at(const Moment& moment) const;
  std::optional<double> begin_of_day(const Day& day) const;
  std::optional<double> begin_of_span(Span span, double time, int later) const;
  std::int64_t second_of(const Day& day) const;

  CalendarKind kind_;
  std::int64_t unit_ = 0;
  std::optional<Zero> zero_;
};

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// What <time> says of the time of the simulation: how long its unit is, and which date each time is.
#include "lib/model/calendar.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lib/model/units.hpp"

namespace leat::model {
namespace {

constexpr std::int64_t kDaySeconds = 86'400, kMicroseconds = 1'000'000, kMonthsOfYear = 12;

bool has_year_zero(CalendarKind kind) {
  return kind != CalendarKind::standard && kind != CalendarKind::julian;
}

Day day_of(const Date& date, CalendarKind kind) {
  const bool is_shifted = !has_year_zero(kind) && date.year < 0;
  return {date.year + (is_shifted ? 1 : 0), date.month, date.day};
}

Date date_at(const Day& day, CalendarKind kind) {
  const bool is_shifted = !has_year_zero(kind) && day.year < 1;
  return {day.year - (is_shifted ? 1 : 0), day.month, day.day};
}

Day first_of_month(std::int64_t month) {
  const std::int64_t year = floored_quotient(month, kMonthsOfYear);
  return {year, static_cast<int>(month - year * kMonthsOfYear) + 1, 1};
}

std::int64_t month_number(const Day& day) { return day.year * kMonthsOfYear + day.month - 1; }

}  // namespace

std::string to_text(const Date& date) {
  char text[80];
  constexpr int kHour = 3600, kMinute = 60;
  std::snprintf(text, sizeof text, "%04lld-%02d-%02d %02d:%02d:%02d",
                static_cast<long long>(date.year), date.month, date.day, date.second / kHour,
                date.second % kHour / kMinute, date.second % kMinute);
  std::string whole = text;
  if (date.fraction == 0) return whole;
  // Cut, not rounded: .9999999 is not the next second.
  std::snprintf(text, sizeof text, "%06d", static_cast<int>(date.fraction * kMicroseconds));
  return whole + "." + text;
}

Calendar::Calendar(const std::string& unit, const std::string& calendar)
    : kind_(calendar_kind(calendar)) {
  const TimeReference reference = read_time_unit(unit, calendar);
  if (reference.unit) unit_ = reference.unit->microseconds;
  if (reference.day && unit_ != 0 && kind_ != CalendarKind::none)
    zero_ = Zero{*reference.day, reference.second, reference.microsecond};
}

std::optional<double> Calendar::seconds_per_unit() const {
  if (unit_ == 0) return std::nullopt;
  return static_cast<double>(unit_) / kMicroseconds;
}

std::int64_t Calendar::first_midnight() const {
  return zero_ ? -zero_->second * kMicroseconds - zero_->microsecond : 0;
}

std::int64_t Calendar::second_of(const Day& day) const {
  return day_number(kind_, day) * kDaySeconds;
}

std::optional<double> Calendar::time_at(const Moment& moment) const {
  if (!zero_) return std::nullopt;
  const std::int64_t seconds = moment.second - second_of(zero_->day) - zero_->second;
  if (seconds > kMostSeconds || seconds < -kMostSeconds) return std::nullopt;
  if (moment.fraction == 0 && zero_->microsecond == 0) {
    // One rounding at most: the double nearest to it.
    if (unit_ <= kMicroseconds) return static_cast<double>(seconds * (kMicroseconds / unit_));
    return static_cast<double>(seconds) / static_cast<double>(unit_ / kMicroseconds);
  }
  const long double microseconds = static_cast<long double>(seconds) * kMicroseconds +
                                   static_cast<long double>(moment.fraction) * kMicroseconds -
                                   zero_->microsecond;
  return static_cast<double>(microseconds / static_cast<long double>(unit_));
}

std::optional<Calendar::Moment> Calendar::moment_of(double time) const {
  if (!zero_ || !std::isfinite(time)) return std::nullopt;
  const long double seconds = static_cast<long double>(time) * unit_ / kMicroseconds;
  if (std::fabs(seconds) > static_cast<long double>(kMostSeconds)) return std::nullopt;
  const std::int64_t zero = second_of(zero_->day) + zero_->second;
  const long double after = seconds + static_cast<long double>(zero_->microsecond) / kMicroseconds;
  const Moment nearest{zero + std::llround(after), 0};
  if (time_at(nearest) == time) return nearest;
  const long double whole = std::floor(after);
  // It stays before the next second, however little it lacks.
  const double fraction = std::min(static_cast<double>(after - whole), std::nextafter(1.0, 0.0));
  return Moment{zero + static_cast<std::int64_t>(whole), fraction};
}

std::optional<Date> Calendar::date_of(double time) const {
  const auto moment = moment_of(time);
  if (!moment) return std::nullopt;
  const std::int64_t number = floored_quotient(moment->second, kDaySeconds);
  Date date = date_at(day_of_number(kind_, number), kind_);
  date.second = static_cast<int>(moment->second - number * kDaySeconds);
  date.fraction = moment->fraction;
  return date;
}

std::optional<double> Calendar::time_of(const Date& date) const {
  constexpr std::int64_t kMostYears = 300'000;
  if (!zero_ || date.year > kMostYears || date.year < -kMostYears) return std::nullopt;
  if (date.year == 0 && !has_year_zero(kind_)) return std::nullopt;
  const Day day = day_of(date, kind_);
  if (!is_day(kind_, day) || date.second < 0 || date.second >= kDaySeconds) return std::nullopt;
  if (!(date.fraction >= 0 && date.fraction < 1)) return std::nullopt;
  return time_at({second_of(day) + date.second, date.fraction});
}

std::optional<double> Calendar::begin_of_day(const Day& day) const {
  return time_at({second_of(day), 0});
}

std::optional<double> Calendar::begin_of_span(Span span, double time, int later) const {
  const auto moment = moment_of(time);
  if (!moment) return std::nullopt;
  const std::int64_t number = floored_quotient(moment->second, kDaySeconds);
  const Day day = day_of_number(kind_, number);
  switch (span) {
    case Span::day:
      return time_at({(number + later) * kDaySeconds, 0});
    case Span::month:
      return begin_of_month(month_number(day) + later);
    case Span::year:
      return begin_of_month((day.year + later) * kMonthsOfYear);
  }
  return std::nullopt;
}

std::optional<double> Calendar::begin_of(Span span, double time) const {
  return begin_of_span(span, time, 0);
}

std::optional<double> Calendar::next(Span span, double time) const {
  return begin_of_span(span, time, 1);
}

std::optional<std::int64_t> Calendar::month_of(double time) const {
  const auto moment = moment_of(time);
  if (!moment) return std::nullopt;
  return month_number(day_of_number(kind_, floored_quotient(moment->second, kDaySeconds)));
}

std::optional<double> Calendar::begin_of_month(std::int64_t month) const {
  constexpr std::int64_t kMostMonths = 300'000 * kMonthsOfYear;
  if (!zero_ || month > kMostMonths || month < -kMostMonths) return std::nullopt;
  return begin_of_day(first_of_month(month));
}

std::optional<double> Calendar::months_later(double time, std::int64_t months) const {
  constexpr std::int64_t kMostMonths = 600'000 * kMonthsOfYear;
  const auto moment = moment_of(time);
  if (!moment || months > kMostMonths || months < -kMostMonths) return std::nullopt;
  const std::int64_t number = floored_quotient(moment->second, kDaySeconds);
  const Day day = day_of_number(kind_, number);
  Day later = first_of_month(month_number(day) + months);
  later.day = std::min(day.day, last_day(kind_, later.year, later.month));
  while (!is_day(kind_, later)) ++later.day;
  return time_at({second_of(later) + moment->second - number * kDaySeconds, moment->fraction});
}

}  // namespace leat::model

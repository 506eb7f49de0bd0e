// SPDX-License-Identifier: Apache-2.0
// The days of the calendars of the CF conventions. Source: CF Conventions 1.8, section 4.4.1.
#include "lib/model/days.hpp"

#include <cmath>

namespace leat::model {
namespace {

constexpr int kMonths = 12;
constexpr int kFebruary = 2;
constexpr int kDaysOfMonths[kMonths] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

// The number of January 1st of year 0, such that both calendars give a day the same number: its
// Julian day number. Source: Meeus, Astronomical Algorithms, chapter 7.
constexpr std::int64_t kGregorianZero = 1'721'060, kJulianZero = 1'721'058;
// 1582-10-15, on which "standard" goes over from the Julian calendar to the Gregorian.
constexpr std::int64_t kFirstGregorian = 2'299'161;
constexpr Day kLastJulianDay{1582, 10, 4}, kFirstGregorianDay{1582, 10, 15};

bool is_before(const Day& one, const Day& other) {
  if (one.year != other.year) return one.year < other.year;
  return one.month != other.month ? one.month < other.month : one.day < other.day;
}

// Of "standard", the calendar that holds at that time; else itself.
CalendarKind pure_kind(CalendarKind kind, bool is_gregorian) {
  if (kind != CalendarKind::standard) return kind;
  return is_gregorian ? CalendarKind::proleptic_gregorian : CalendarKind::julian;
}

bool is_leap(CalendarKind kind, std::int64_t year) {
  switch (kind) {
    case CalendarKind::noleap:
      return false;
    case CalendarKind::all_leap:
      return true;
    case CalendarKind::julian:
      return year % 4 == 0;
    case CalendarKind::standard:
      if (year <= kFirstGregorianDay.year) return year % 4 == 0;
      [[fallthrough]];
    case CalendarKind::proleptic_gregorian:
    case CalendarKind::none:
      return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    case CalendarKind::days_360:
      return false;
  }
  return false;
}

double mean_year(CalendarKind kind) {
  switch (kind) {
    case CalendarKind::noleap:
      return 365;
    case CalendarKind::all_leap:
      return 366;
    case CalendarKind::days_360:
      return 360;
    case CalendarKind::julian:
      return 365.25;
    case CalendarKind::standard:
    case CalendarKind::proleptic_gregorian:
    case CalendarKind::none:
      return 365.2425;
  }
  return 1;
}

// Days between January 1st of year 0 and that of `year`, in a calendar without a gap.
std::int64_t days_before(CalendarKind kind, std::int64_t year) {
  constexpr std::int64_t kYear = 365, kLeapYear = 366, kYearOf360 = 360;
  const std::int64_t last = year - 1;
  const std::int64_t julian = year * kYear + floored_quotient(last, 4) + 1;
  switch (kind) {
    case CalendarKind::noleap:
      return year * kYear;
    case CalendarKind::all_leap:
      return year * kLeapYear;
    case CalendarKind::days_360:
      return year * kYearOf360;
    case CalendarKind::julian:
      return julian + kJulianZero;
    case CalendarKind::standard:
    case CalendarKind::proleptic_gregorian:
    case CalendarKind::none:
      return julian - floored_quotient(last, 100) + floored_quotient(last, 400) + kGregorianZero;
  }
  return 0;
}

}  // namespace

CalendarKind calendar_kind(std::string_view name) {
  if (name == "standard" || name == "gregorian") return CalendarKind::standard;
  if (name == "proleptic_gregorian") return CalendarKind::proleptic_gregorian;
  if (name == "julian") return CalendarKind::julian;
  if (name == "noleap" || name == "365_day") return CalendarKind::noleap;
  if (name == "all_leap" || name == "366_day") return CalendarKind::all_leap;
  return name == "360_day" ? CalendarKind::days_360 : CalendarKind::none;
}

int last_day(CalendarKind kind, std::int64_t year, int month) {
  if (kind == CalendarKind::days_360) return 30;
  return kDaysOfMonths[month - 1] + (month == kFebruary && is_leap(kind, year) ? 1 : 0);
}

bool is_day(CalendarKind kind, const Day& day) {
  if (day.month < 1 || day.month > kMonths || day.day < 1) return false;
  if (day.day > last_day(kind, day.year, day.month)) return false;
  return kind != CalendarKind::standard || !is_before(kLastJulianDay, day) ||
         !is_before(day, kFirstGregorianDay);
}

std::int64_t day_number(CalendarKind kind, const Day& day) {
  const CalendarKind pure = pure_kind(kind, !is_before(day, kFirstGregorianDay));
  std::int64_t number = days_before(pure, day.year) + day.day - 1;
  for (int month = 1; month < day.month; ++month) number += last_day(pure, day.year, month);
  return number;
}

Day day_of_number(CalendarKind kind, std::int64_t number) {
  const CalendarKind pure = pure_kind(kind, number >= kFirstGregorian);
  const double years = static_cast<double>(number - days_before(pure, 0)) / mean_year(pure);
  Day day{static_cast<std::int64_t>(std::floor(years)), 1, 1};
  while (days_before(pure, day.year) > number) --day.year;
  while (days_before(pure, day.year + 1) <= number) ++day.year;
  std::int64_t rest = number - days_before(pure, day.year);
  while (rest >= last_day(pure, day.year, day.month)) {
    rest -= last_day(pure, day.year, day.month);
    ++day.month;
  }
  day.day = static_cast<int>(rest) + 1;
  return day;
}

}  // namespace leat::model

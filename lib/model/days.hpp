// SPDX-License-Identifier: Apache-2.0
// The days of the calendars of the CF conventions: which there are, and a number for each. For years up to some 10^9.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace leat::model {

enum class CalendarKind { standard, proleptic_gregorian, julian, noleap, all_leap, days_360, none };

/// Of a word of `calendar`, "gregorian" too; `none` for other text.
CalendarKind calendar_kind(std::string_view name);

/// A day. Years are counted with a year 0 here, the one before year 1, in all calendars.
struct Day {
  std::int64_t year = 1;
  int month = 1, day = 1;

  bool operator==(const Day&) const = default;
};

/// The number of the month's last day.
int last_day(CalendarKind kind, std::int64_t year, int month);

/// Whether there is such a day; "standard" has none from 1582-10-05 to 1582-10-14.
bool is_day(CalendarKind kind, const Day& day);

/// A number for each day, one more than that of the day before. Of a day that there is.
std::int64_t day_number(CalendarKind kind, const Day& day);
Day day_of_number(CalendarKind kind, std::int64_t number);

/// Rounded down, for a divisor above 0.
constexpr std::int64_t floored_quotient(std::int64_t number, std::int64_t divisor) {
  return number / divisor - (number % divisor < 0 ? 1 : 0);
}

}  // namespace leat::model

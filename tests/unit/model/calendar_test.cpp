// SPDX-License-Identifier: Apache-2.0
// test_calendar.py holds dates of all calendars against cftime.
#include "lib/model/calendar.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "lib/model/units.hpp"

namespace leat::model {
namespace {

const char* const kCalendars[] = {"standard", "gregorian", "proleptic_gregorian",
                                  "julian",   "noleap",    "365_day",
                                  "all_leap", "366_day",   "360_day"};

Date date(std::int64_t year, int month, int day, int second = 0) {
  return {year, month, day, second, 0};
}

TEST(Calendar, KnowsHowLongTheUnitIs) {
  EXPECT_EQ(Calendar("s", "standard").seconds_per_unit(), 1);
  EXPECT_EQ(Calendar("ms", "standard").seconds_per_unit(), 0.001);
  EXPECT_EQ(Calendar("minutes", "none").seconds_per_unit(), 60);
  EXPECT_EQ(Calendar("h", "none").seconds_per_unit(), 3600);
  EXPECT_EQ(Calendar("days since 2000-01-01", "noleap").seconds_per_unit(), 86400);
  EXPECT_EQ(Calendar("months since 2000-01-01", "360_day").seconds_per_unit(), 30 * 86400);
  for (const char* unit : {"", "1", "steps", "mo", "years", "K", "m"})
    EXPECT_FALSE(Calendar(unit, "standard").seconds_per_unit()) << unit;
}

TEST(Calendar, HasDatesOnlyWhereThereAreSome) {
  EXPECT_TRUE(Calendar("days since 2000-01-01", "standard").has_dates());
  EXPECT_FALSE(Calendar("days since 2000-01-01", "none").has_dates());
  EXPECT_FALSE(Calendar("days since 2000-02-30", "standard").has_dates());
  EXPECT_FALSE(Calendar("s", "standard").has_dates());
  EXPECT_FALSE(Calendar("s", "standard").date_of(0));
  EXPECT_FALSE(Calendar("s", "standard").time_of(date(2000, 1, 1)));
  EXPECT_FALSE(Calendar("s", "standard").begin_of(Span::day, 5));
  EXPECT_FALSE(Calendar("s", "standard").months_later(5, 1));
}

TEST(Calendar, GoesFromOctober4thTo15thOf1582) {
  const Calendar calendar("days since 1582-10-01", "standard");
  EXPECT_EQ(calendar.date_of(3), date(1582, 10, 4));
  EXPECT_EQ(calendar.date_of(4), date(1582, 10, 15));
  EXPECT_FALSE(calendar.time_of(date(1582, 10, 10)));
  EXPECT_EQ(calendar.next(Span::month, 4), 21);
  EXPECT_EQ(calendar.months_later(*calendar.time_of(date(1582, 9, 10)), 1), 4)
      << "the first day that there is";
  EXPECT_NE(why_no_date("days since 1582-10-10", "standard"), "");
  EXPECT_EQ(why_no_date("days since 1582-10-10", "julian"), "");
}

TEST(Calendar, CountsMonthsToTheLastDayThatAMonthHas) {
  const Calendar calendar("hours since 2000-01-31 12:00", "standard");
  EXPECT_EQ(calendar.date_of(*calendar.months_later(0, 1)), date(2000, 2, 29, 43200));
  EXPECT_EQ(calendar.date_of(*calendar.months_later(0, 13)), date(2001, 2, 28, 43200));
  EXPECT_EQ(calendar.date_of(*calendar.months_later(0, -2)), date(1999, 11, 30, 43200));
  const Calendar of_360("days since 2000-01-30", "360_day");
  EXPECT_EQ(of_360.date_of(*of_360.months_later(0, 1)), date(2000, 2, 30));
}

TEST(Calendar, KnowsTheBeginOfDaysMonthsAndYears) {
  const Calendar calendar("hours since 2000-02-28 06:00", "standard");
  EXPECT_EQ(calendar.begin_of(Span::day, 17.9), -6);
  EXPECT_EQ(calendar.begin_of(Span::day, 18), 18);
  EXPECT_EQ(calendar.next(Span::day, 18), 42);
  EXPECT_EQ(calendar.date_of(*calendar.next(Span::month, 18)), date(2000, 3, 1));
  EXPECT_EQ(calendar.date_of(*calendar.begin_of(Span::year, 18)), date(2000, 1, 1));
  EXPECT_EQ(calendar.date_of(*calendar.next(Span::year, 18)), date(2001, 1, 1));
}

TEST(Calendar, ReadsZonesAndFractions) {
  EXPECT_EQ(Calendar("days since 2000-01-01 06:00 +1:30", "standard").date_of(0),
            date(2000, 1, 1, 4 * 3600 + 1800));
  EXPECT_EQ(Calendar("days since 2000-01-01 -5", "standard").date_of(0),
            date(2000, 1, 1, 5 * 3600));
  EXPECT_EQ(Calendar("days since 2000-01-01 +1", "standard").date_of(0),
            date(1999, 12, 31, 23 * 3600));
  const Calendar calendar("seconds since 2000-01-01 00:00:00.25", "standard");
  EXPECT_EQ(calendar.date_of(0)->fraction, 0.25);
  EXPECT_EQ(calendar.date_of(0.75), date(2000, 1, 1, 1));
  EXPECT_EQ(calendar.begin_of(Span::day, 1), -0.25);
}

TEST(Calendar, HasNoYear0WhereCftimeHasNone) {
  const Calendar julian("days since 0001-01-01", "julian");
  EXPECT_EQ(julian.date_of(-1), date(-1, 12, 31));
  EXPECT_EQ(julian.time_of(date(-1, 12, 31)), -1);
  EXPECT_FALSE(julian.time_of(date(0, 12, 31)));
  const Calendar noleap("days since 0001-01-01", "noleap");
  EXPECT_EQ(noleap.date_of(-1), date(0, 12, 31));
  EXPECT_EQ(noleap.time_of(date(0, 12, 31)), -1);
}

TEST(Calendar, FindsWholeSecondsExactlyInAnyUnit) {
  const unsigned seed = std::random_device{}();
  std::mt19937_64 dice(seed);
  for (const char* name : kCalendars) {
    for (const char* unit : {"microseconds", "milliseconds", "seconds", "minutes", "h", "days"}) {
      const Calendar calendar(std::string(unit) + " since 1850-01-01 00:00:07", name);
      for (int i = 0; i < 300; ++i) {
        const auto year = static_cast<std::int64_t>(dice() % 5000) + 1;
        const Date given{year, static_cast<int>(dice() % 12) + 1, static_cast<int>(dice() % 28) + 1,
                         static_cast<int>(dice() % 86400), 0};
        const auto time = calendar.time_of(given);
        if (!time) continue;  // in the gap
        EXPECT_EQ(calendar.date_of(*time), given)
            << to_text(given) << " of " << name << " in " << unit << ", seed " << seed;
      }
    }
  }
}

TEST(Calendar, WritesDates) {
  EXPECT_EQ(to_text(date(2000, 2, 29, 6 * 3600 + 61)), "2000-02-29 06:01:01");
  EXPECT_EQ(to_text(Date{-5, 1, 1, 0, 0.5}), "-005-01-01 00:00:00.500000");
}

TEST(Calendar, AnswersForAnyDouble) {
  const unsigned seed = std::random_device{}();
  std::mt19937_64 dice(seed);
  for (const char* name : kCalendars) {
    for (const char* unit : {"microseconds since 2000-01-01", "s since 1-1-1 12:00:00.7 -14:59",
                             "days since 9999-12-30 23:59:59"}) {
      const Calendar calendar(unit, name);
      for (int i = 0; i < 3000; ++i) {
        const std::uint64_t bits = dice();
        double time = 0;
        std::memcpy(&time, &bits, sizeof time);
        const auto found = calendar.date_of(time);
        for (const Span span : {Span::day, Span::month, Span::year}) {
          const auto begin = calendar.begin_of(span, time), next = calendar.next(span, time);
          if (begin && found) {
            EXPECT_LE(*begin, time) << unit << " " << name << ", seed " << seed;
          }
          if (next && found) {
            EXPECT_GT(*next, time) << unit << " " << name << ", seed " << seed;
          }
        }
        (void)calendar.months_later(time, static_cast<std::int64_t>(dice()));
        (void)calendar.time_of({static_cast<std::int64_t>(dice()), static_cast<int>(dice()),
                                static_cast<int>(dice()), static_cast<int>(dice()), time});
        (void)calendar.begin_of_month(static_cast<std::int64_t>(dice()));
      }
    }
  }
  const Calendar calendar("days since 2000-01-01", "standard");
  EXPECT_FALSE(calendar.date_of(std::nan("")));
  EXPECT_FALSE(calendar.date_of(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(calendar.date_of(1e300));
}

}  // namespace
}  // namespace leat::model

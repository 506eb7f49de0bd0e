// SPDX-License-Identifier: Apache-2.0
// test_calendar.py holds marks that have dates against cftime.
#include "lib/model/marks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace leat::model {
namespace {

constexpr double kDay = 86400, kHour = 3600;
const double kNan = std::nan("");
constexpr double kInfinite = std::numeric_limits<double>::infinity();

Marks marks(const char* every, const char* unit = "s", double origin = 0,
            const char* calendar = "standard") {
  const Result<Every> parsed = parse_every(every);
  EXPECT_TRUE(parsed) << every;
  return {*parsed, Calendar(unit, calendar), origin};
}

TEST(Marks, AreComputedFromTheirNumber) {
  const Marks tenths = marks("0.1 s");
  EXPECT_EQ(tenths.last_at_or_before(100000.0), 100000.0);
  EXPECT_EQ(tenths.next_after(99999.95), 100000.0);
  EXPECT_EQ(tenths.next_after(0.25), 0.3) << "3 * 0.1 is another double";
  EXPECT_EQ(tenths.last_at_or_before(-0.25), -0.3);
  for (int n = 1; n < 200000; ++n) {
    const double mark = n / 10.0;
    ASSERT_EQ(tenths.next_after((n - 0.5) / 10), mark);
    ASSERT_EQ(tenths.last_at_or_before(mark), mark);
    ASSERT_EQ(tenths.next_after(mark), (n + 1) / 10.0);
  }
  EXPECT_EQ(marks("1 s", "days").next_after(1), 86401 / kDay);
  EXPECT_EQ(marks("6 h", "d").next_after(0), 0.25);
  EXPECT_EQ(marks("1 d", "ms").next_after(1), 86400000);
}

TEST(Marks, WithoutDatesAreMultiplesFromTime0) {
  EXPECT_EQ(marks("5 d", "d").next_after(11), 15);
  EXPECT_EQ(marks("7 h", "h", 3).last_at_or_before(3), 0) << "the origin moves no mark";
  EXPECT_EQ(marks("10").next_after(10), 20);
  EXPECT_EQ(marks("10", "K").next_after(19), 20) << "iterations need no unit of time";
  EXPECT_EQ(marks("10 min wall", "K").next_after(0), 600);
}

TEST(Marks, WithDatesLieOnTheBordersOfTheCalendar) {
  const char* const unit = "hours since 2000-01-30 05:00";
  EXPECT_EQ(marks("6 h", unit).next_after(0), 1);
  EXPECT_EQ(marks("6 h", unit).next_after(1), 7);
  EXPECT_EQ(marks("1 d", unit).next_after(0), 19);
  EXPECT_EQ(marks("5 d", unit).last_at_or_before(0), -5);
  EXPECT_EQ(marks("5 d", unit).next_after(0), 5 * 24 - 5);
  EXPECT_EQ(marks("1 mo", unit).next_after(0), 43);
  EXPECT_EQ(marks("1 mo", unit).next_after(43), 43 + 29 * 24);
  EXPECT_EQ(marks("3 mo", unit).next_after(0), 43 + (29 + 31) * 24);
  EXPECT_EQ(marks("1 y", unit).last_at_or_before(0), -(29 * 24 + 5));
  EXPECT_EQ(marks("10 y", "days since 1850-06-01").next_after(0), 214 + 9 * 365 + 2);
  EXPECT_EQ(marks("1 d", "hours since 2000-01-01 00:00 +2").next_after(0), 2) << "00:00 of UTC";
}

TEST(Marks, OfPhasesBeginAnewAtTheirAlignedTimes) {
  const Marks phases = marks("1 h for 5 d, then 3 h", "h", 0.5);
  EXPECT_EQ(phases.last_at_or_before(0.7), 0) << "what was before is of the first phase";
  EXPECT_EQ(phases.next_after(0.5), 1);
  EXPECT_EQ(phases.next_after(119), 120);
  EXPECT_EQ(phases.next_after(120), 123) << "the phase ends at 120.5";
  EXPECT_EQ(phases.last_at_or_before(122.9), 120);
  EXPECT_EQ(phases.last_at_or_before(123), 123);
  const Marks exact = marks("1 h for 5 d, then 7 h", "h");
  EXPECT_EQ(exact.next_after(119.5), 120) << "a mark at the end is of the phase that ends";
  EXPECT_EQ(exact.next_after(120), 126);
  const Marks sparse = marks("1 d for 1 h, then 1 h for 2 h, then 6 h", "h");
  EXPECT_EQ(sparse.next_after(0), 2) << "a phase may have no mark";
  EXPECT_EQ(sparse.next_after(3), 6);
  EXPECT_EQ(sparse.last_at_or_before(5.9), 3);
  const Marks months = marks("1 d for 1 mo, then 1 mo", "days since 2000-01-31", 0);
  EXPECT_EQ(months.next_after(28), 29) << "2000-02-29, a month later than January 31st";
  EXPECT_EQ(months.next_after(29), 30);
  EXPECT_EQ(months.next_after(30), 61);
}

TEST(Marks, ArePassedOnceByTimesThatWereAddedUp) {
  for (const char* every : {"0.1 s", "1 s", "0.5 s", "60 s", "1 h"}) {
    const Marks each = marks(every);
    const double period = *seconds_of(parse_every(every)->phases[0].period);
    double before = 0;
    int passed = 0;
    for (int i = 1; i <= 100000; ++i) {
      const double now = before + 0.1;
      const bool is_due = std::fmod(i, std::round(period * 10)) == 0;
      ASSERT_EQ(each.passed(before, now), is_due) << every << " at step " << i;
      const Marks::Step step = each.window_of(before, now);
      ASSERT_EQ(step.is_at_end, is_due) << every << " at step " << i;
      ASSERT_NEAR(step.last_part, 1, 1e-5);
      ASSERT_NEAR(step.end - step.begin, period, 1e-9);
      ASSERT_NEAR(step.end, std::ceil(i / 10.0 / period - 1e-9) * period, 1e-9);
      passed += each.passed(before, now) ? 1 : 0;
      before = now;
    }
    EXPECT_EQ(passed, static_cast<int>(10000 / period + 1e-9)) << every;
  }
}

TEST(Marks, ForgiveAMillionthOfTheStep) {
  const Marks tens = marks("10 s");
  EXPECT_TRUE(tens.passed(9, 10));
  EXPECT_TRUE(tens.passed(9, 10 - 0.9e-6));
  EXPECT_FALSE(tens.passed(9, 10 - 1.1e-6));
  EXPECT_FALSE(tens.passed(10 - 0.9e-6, 11)) << "it was passed by the step before";
  EXPECT_TRUE(tens.passed(10 - 1.1e-6, 11));
  EXPECT_TRUE(tens.passed(9, 10 + 1e-9));
  EXPECT_FALSE(tens.passed(10 + 1e-9, 11));
  EXPECT_EQ(tens.reached(10 - 0.9e-6, 1), 10);
  EXPECT_EQ(tens.reached(10 - 0.9e-6, 0.1), 0);
}

TEST(Marks, DivideStepsThatGoOverThem) {
  const Marks tens = marks("10 s");
  const Marks::Step inside = tens.window_of(2, 4);
  EXPECT_EQ(inside.begin, 0);
  EXPECT_EQ(inside.end, 10);
  EXPECT_FALSE(inside.is_at_end);
  EXPECT_EQ(inside.first_part, 0);
  EXPECT_EQ(inside.last_part, 1);
  const Marks::Step over = tens.window_of(7, 12);
  EXPECT_EQ(over.begin, 10);
  EXPECT_EQ(over.end, 20);
  EXPECT_EQ(over.first_end, 10);
  EXPECT_DOUBLE_EQ(over.first_part, 0.6);
  EXPECT_DOUBLE_EQ(over.last_part, 0.4);
  const Marks::Step far = tens.window_of(5, 45);
  EXPECT_EQ(far.first_end, 10);
  EXPECT_EQ(far.begin, 40);
  EXPECT_DOUBLE_EQ(far.first_part, 0.125);
  EXPECT_DOUBLE_EQ(far.last_part, 0.125);
  const Marks::Step at_end = tens.window_of(5, 20);
  EXPECT_TRUE(at_end.is_at_end);
  EXPECT_EQ(at_end.begin, 10);
  EXPECT_EQ(at_end.end, 20);
  EXPECT_DOUBLE_EQ(at_end.first_part, 1.0 / 3);
  EXPECT_DOUBLE_EQ(at_end.last_part, 2.0 / 3);
  const Marks::Step whole = tens.window_of(10, 20);
  EXPECT_EQ(whole.begin, 10);
  EXPECT_EQ(whole.last_part, 1);
}

TEST(Marks, OfATimeThatDoesNotMoveOnAreNotPassed) {
  const Marks tens = marks("10 s");
  EXPECT_FALSE(tens.passed(10, 10));
  EXPECT_FALSE(tens.passed(20, 5));
  EXPECT_FALSE(tens.passed(kNan, 10));
  EXPECT_FALSE(tens.passed(0, kNan));
  EXPECT_FALSE(tens.passed(0, kInfinite));
  EXPECT_FALSE(tens.passed(-kInfinite, 0));
  EXPECT_TRUE(std::isnan(tens.last_at_or_before(kNan)));
  EXPECT_TRUE(std::isnan(tens.next_after(kInfinite)));
  const Marks::Step back = tens.window_of(25, 5);
  EXPECT_EQ(back.begin, 0);
  EXPECT_EQ(back.end, 10);
  EXPECT_EQ(back.last_part, 1);
  const Marks::Step still = tens.window_of(10, 10);
  EXPECT_EQ(still.end, 10);
  EXPECT_TRUE(still.is_at_end);
}

TEST(Marks, AreNotThereWhereTheTimeCannotTell) {
  const auto why = [](const char* every, const char* unit, const char* calendar = "standard") {
    return why_no_marks(*parse_every(every), Calendar(unit, calendar));
  };
  EXPECT_EQ(why("6 h", "s"), "");
  EXPECT_EQ(why("1 mo", "days since 2000-01-01"), "");
  EXPECT_EQ(why("10", "K"), "");
  EXPECT_EQ(why("10 s wall", "K"), "");
  EXPECT_NE(why("6 h", "1").find("the unit of <time> is none"), std::string::npos);
  EXPECT_NE(why("1 mo", "s").find("needs dates"), std::string::npos);
  EXPECT_NE(why("1 d for 1 mo, then 2 d", "s").find("needs dates"), std::string::npos);
  EXPECT_NE(why("1 y", "days since 2000-01-01", "none").find("needs dates"), std::string::npos);
  EXPECT_TRUE(std::isnan(marks("1 mo", "s").next_after(1)));
  EXPECT_FALSE(marks("1 mo", "s").passed(1, 1e9));
  EXPECT_FALSE(marks("6 h", "1").passed(1, 1e9));
  EXPECT_FALSE(marks("first").passed(1, 1e9));
}

// Doubles of all kinds: any bits, and some that are near marks.
double any_double(std::mt19937_64& dice) {
  const std::uint64_t bits = dice();
  double any = 0;
  std::memcpy(&any, &bits, sizeof any);
  const double usual = static_cast<double>(static_cast<std::int64_t>(dice() % 2000001) - 1000000);
  switch (dice() % 5) {
    case 0:
      return any;
    case 1:
      return usual;
    case 2:
      return std::nextafter(usual, any);
    case 3:
      return usual / 7;
    default:
      return usual * 1e12;
  }
}

TEST(Marks, AreDefinedForAnyDouble) {
  const unsigned seed = std::random_device{}();
  std::mt19937_64 dice(seed);
  const char* const everys[] = {"0.1 s",
                                "1 ms",
                                "6 h",
                                "5 d",
                                "1 mo",
                                "7 mo",
                                "1000 y",
                                "999999999999999 y",
                                "0.000000001 ms",
                                "999999999999999 d",
                                "1",
                                "1 s wall",
                                "1 h for 5 d, then 3 h",
                                "1 mo for 1 y, then 1 d for 3 mo, then 2 h"};
  const char* const units[] = {
      "s", "days", "microseconds", "days since 2000-01-01", "s since 1-1-1 12:00:00.7 -14:59", "K"};
  for (const char* every : everys) {
    for (const char* unit : units) {
      const Every parsed = *parse_every(every);
      const Calendar calendar(unit, "standard");
      for (int i = 0; i < 2000; ++i) {
        const Marks each(parsed, calendar, any_double(dice));
        const double before = any_double(dice), now = any_double(dice);
        const std::string where =
            std::string(every) + " in " + unit + ", seed " + std::to_string(seed);
        const double last = each.last_at_or_before(now), next = each.next_after(now);
        if (!std::isnan(last)) {
          ASSERT_LE(last, now) << where;
        }
        if (!std::isnan(next)) {
          ASSERT_GT(next, now) << where;
        }
        const bool passed = each.passed(before, now);
        if (!(before < now)) {
          ASSERT_FALSE(passed) << where;
        }
        const Marks::Step step = each.window_of(before, now);
        ASSERT_TRUE(step.first_part >= 0 && step.first_part <= 1) << where;
        ASSERT_TRUE(step.last_part >= 0 && step.last_part <= 1) << where;
        ASSERT_LE(step.first_part + step.last_part, 1 + 1e-5) << where;
        if (!std::isnan(step.begin)) {
          ASSERT_LT(step.begin, step.end) << where;
        }
      }
    }
  }
}

}  // namespace
}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// Which file a row goes into.
#include "lib/model/splitting.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace leat::model {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

Splitting splitting(const char* text, const char* unit = "", const char* calendar = "standard") {
  const Result<Every> split = parse_split(text);
  EXPECT_TRUE(split) << (split ? "" : split.error().message);
  return {*split, Calendar(unit, calendar)};
}

std::string name_at(const Splitting& files, double time, double step = 0) {
  const std::optional<SplitPeriod> period = files.of_time(time, step);
  return period ? period->name : "none";
}

TEST(Splitting, BeginsAFileAtEachMultipleOfIterations) {
  for (const char* text : {"1000", "every 1000", " every  1000 "}) {
    const Splitting files = splitting(text);
    ASSERT_TRUE(files.is_of_iterations());
    EXPECT_EQ(files.of_iteration(0).name, "000000");
    EXPECT_EQ(files.of_iteration(999).name, "000000");
    EXPECT_EQ(files.of_iteration(1000).name, "000001");
    EXPECT_EQ(files.of_iteration(1000).begin, 1000);
    EXPECT_EQ(files.of_iteration(2'147'483'646).name, "2147483");
  }
}

TEST(Splitting, NamesFilesAfterTheDateOnWhichTheyBegin) {
  const Splitting months = splitting("1 mo", "days since 2000-01-01", "noleap");
  EXPECT_FALSE(months.is_of_iterations());
  EXPECT_EQ(name_at(months, 0), "2000-01");
  EXPECT_EQ(name_at(months, 30.99), "2000-01");
  EXPECT_EQ(name_at(months, 31), "2000-02");
  EXPECT_EQ(name_at(months, 365 + 58.5), "2001-02");
  EXPECT_EQ(name_at(splitting("3 mo", "days since 2000-01-01"), 100), "2000-04");
  EXPECT_EQ(name_at(splitting("1 y", "days since 2000-01-01"), 366), "2001");
  EXPECT_EQ(name_at(splitting("1 d", "hours since 2000-02-28"), 25), "2000-02-29");
  EXPECT_EQ(name_at(splitting("6 h", "days since 2000-01-01"), 0.8), "2000-01-01T180000");
  EXPECT_EQ(name_at(splitting("250 ms", "seconds since 2000-01-01"), 1.3), "2000-01-01T000001-250");
}

TEST(Splitting, NamesFilesAfterTheirNumberWhereTheTimeHasNoDates) {
  const Splitting files = splitting("6 h", "s");
  EXPECT_EQ(name_at(files, 0), "000000");
  EXPECT_EQ(name_at(files, 21'599.9), "000000");
  EXPECT_EQ(name_at(files, 3 * 21'600.0), "000003");
  EXPECT_EQ(name_at(files, -1), "-000001");
  EXPECT_EQ(name_at(splitting("0.1 s", "s"), 0.35), "000003");
}

TEST(Splitting, TakesATimeThatIsRoundedForTheMultipleThatItLacksLittleOf) {
  const Splitting files = splitting("1 s", "s");
  double time = 0;
  for (int i = 0; i < 10; ++i) time += 0.1;
  ASSERT_LT(time, 1);
  EXPECT_EQ(name_at(files, time, 0.1), "000001");
  EXPECT_EQ(name_at(files, time), "000000") << "of the first row no step is known";
}

TEST(Splitting, PutsARowOverAPeriodIntoTheFileInWhichThatEnds) {
  const Splitting files = splitting("1 mo", "days since 2000-01-01");
  EXPECT_EQ(files.of_window(0, 31)->name, "2000-01");
  EXPECT_EQ(files.of_window(31, 60)->name, "2000-02");
  EXPECT_EQ(files.of_window(30, 40)->name, "2000-02");
  EXPECT_EQ(files.of_window(10, 11)->name, "2000-01");
}

TEST(Splitting, OfATimeThatIsNoNumberThereIsNone) {
  const Splitting files = splitting("1 d", "s");
  EXPECT_FALSE(files.of_time(kNoTime, 0));
  EXPECT_FALSE(files.of_time(std::numeric_limits<double>::infinity(), 1));
}

TEST(Splitting, SaysWhatToWriteInPlaceOfWhatIsNoLength) {
  for (const char* text : {"", "often", "first", "10 min wall", "1 h for 5 d, then 3 h", "0", "-3",
                           "every", "1.5", "1000 ts"}) {
    const Result<Every> split = parse_split(text);
    ASSERT_FALSE(split) << text;
    EXPECT_NE(split.error().message.find("write"), std::string::npos) << split.error().message;
    EXPECT_NE(split.error().message.find("\"1 mo\""), std::string::npos) << split.error().message;
  }
}

}  // namespace
}  // namespace leat::model

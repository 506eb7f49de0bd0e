// SPDX-License-Identifier: Apache-2.0
#include "lib/model/every.hpp"

#include <gtest/gtest.h>

#include <random>

namespace leat::model {
namespace {

std::string canonical(std::string_view text) {
  const Result<Every> every = parse_every(text);
  return every ? to_text(*every) : "error: " + every.error().message;
}

std::string in_file_name(std::string_view text) {
  const Result<Every> every = parse_every(text);
  return every ? file_name_text(*every, "every") : "error: " + every.error().message;
}

std::string problem(std::string_view text) {
  const Result<Every> every = parse_every(text);
  return every ? "" : every.error().message;
}

TEST(Every, HasOneFormForEachMeaning) {
  EXPECT_EQ(canonical("10"), "10");
  EXPECT_EQ(canonical(" 010 "), "10");
  EXPECT_EQ(canonical("0.50s"), "0.5 s");
  EXPECT_EQ(canonical(".001 s"), "0.001 s");
  EXPECT_EQ(canonical("1.0 h"), "1 h");
  EXPECT_EQ(canonical("90 minutes"), "90 min");
  EXPECT_EQ(canonical("6hours"), "6 h");
  EXPECT_EQ(canonical("6  hr"), "6 h");
  EXPECT_EQ(canonical("1 month"), "1 mo");
  EXPECT_EQ(canonical("2 years"), "2 y");
  EXPECT_EQ(canonical("1.5 days"), "1.5 d");
  EXPECT_EQ(canonical("250 milliseconds"), "250 ms");
  EXPECT_EQ(canonical("10 min wall"), "10 min wall");
  EXPECT_EQ(canonical("10min wall"), "10 min wall");
  EXPECT_EQ(canonical("first"), "first");
  EXPECT_EQ(canonical(" last "), "last");
  EXPECT_EQ(canonical("1h for 5d,then 3 hours"), "1 h for 5 d, then 3 h");
  EXPECT_EQ(canonical("1 for 10, then 10 for 1000, then 100"),
            "1 for 10, then 10 for 1000, then 100");
  EXPECT_EQ(canonical("10 s wall for 1 min wall, then 5 min wall"),
            "10 s wall for 1 min wall, then 5 min wall");
}

TEST(Every, HasAFormForNamesOfFiles) {
  EXPECT_EQ(in_file_name("10"), "every-10");
  EXPECT_EQ(in_file_name("6 h"), "every-6h");
  EXPECT_EQ(in_file_name("0.5 s"), "every-0.5s");
  EXPECT_EQ(in_file_name("1 mo"), "every-1mo");
  EXPECT_EQ(in_file_name("1 h for 5 d, then 3 h"), "every-1h-5d-3h");
  EXPECT_EQ(in_file_name("10 min wall"), "every-10min-wall");
  EXPECT_EQ(in_file_name("last"), "last");
}

TEST(Every, HasItsConditionBehindThePeriod) {
  Every every = *parse_every("1");
  every.condition = "max(T) >= 1.5 && !x";
  EXPECT_EQ(to_text(every), "when max(T) >= 1.5 && !x");
  EXPECT_EQ(file_name_text(every, "every"), "when-max-T-ge-1.5-and-x");
  EXPECT_EQ(iterations_of(every), 0);
  every = *parse_every("6 h");
  every.condition = "crack";
  EXPECT_EQ(to_text(every), "6 h when crack");
  EXPECT_EQ(file_name_text(every, "every"), "every-6h-when-crack");
}

TEST(Every, TellsClocksApart) {
  EXPECT_EQ(parse_every("10")->clock, Every::Clock::iterations);
  EXPECT_EQ(parse_every("10 s")->clock, Every::Clock::simulation);
  EXPECT_EQ(parse_every("10 s wall")->clock, Every::Clock::wall);
  EXPECT_EQ(parse_every("1 h for 5 d, then 3 h")->phases.size(), 2u);
  EXPECT_EQ(seconds_of(parse_every("0.1 s")->phases[0].period), 0.1);
  EXPECT_EQ(seconds_of(parse_every("1.5 h")->phases[0].period), 5400);
  EXPECT_EQ(seconds_of(parse_every("1 mo")->phases[0].period), std::nullopt);
  EXPECT_EQ(seconds_of(parse_every("10")->phases[0].period), std::nullopt);
}

struct Case {
  const char *text, *words;
};

TEST(Every, SaysWhatWasFoundAndWhatIsPossible) {
  const Case cases[] = {
      {"", "expected a number of iterations like \"10\""},
      {"0", "longer than nothing"},
      {"0.00 s", "longer than nothing"},
      {"-5 s", "longer than nothing"},
      {"1.5", "iterations are counted in whole numbers"},
      {"1.5", "\"1.5 s\""},
      {"0.5 y", "write \"6 mo\""},
      {"1.", "no digit behind its point"},
      {"0,5 s", "a decimal has a point"},
      {"1e-3 s", "without an exponent"},
      {"6 houre", "\"houre\" is no unit of time; did you mean \"hour\"?"},
      {"6 H", "did you mean \"h\"?"},
      {"6 parsec", "\"parsec\" is no unit of time"},
      {"6 q", "there are: \"ms\", \"s\", \"min\", \"h\", \"d\", \"mo\", \"y\""},
      {"5 m", "did you mean \"min\" or \"mo\"?"},
      {"1 week", "\"7 d\""},
      {"1ts", "a number of iterations stands alone"},
      {"10 wall", "a time of the wall clock has a unit"},
      {"10 min Wall", "only \"wall\" may stand"},
      {"10 min wall clock", "not \"clock\""},
      {"1 mo wall", "the wall clock has no months"},
      {"daily", "write \"1 d\""},
      {"once", "write \"first\""},
      {"h", "write \"1 h\""},
      {"frist", "did you mean \"first\"?"},
      {"whenever", "expected a number of iterations"},
      {"1 h for 5 d", "what comes behind \"1 h for 5 d\"?"},
      {"1 h, then 3 h", "how long is it \"1 h\"?"},
      {"1 h for 5 d, 3 h", "begins with \"then\""},
      {"1 h for 5 d,", "begins with \"then\""},
      {"1 h for 5 d, then", "a period is missing"},
      {"1 h for, then 3 h", "a period is missing"},
      {"1 h for 5, then 3 h", "\"1 h\" is time of the simulation, and \"5\" is iterations"},
      {"1 h for 5 d wall, then 3 h", "\"5 d wall\" is wall clock time"},
      {"1234567890123456", "15 digits"},
      {"0.1234567890 s", "\"0.1234567890 s\""},
      {"0.1234567891 s", "9 decimals at most"},
  };
  for (const Case& each : cases) {
    if (std::string(each.text) == "0.1234567890 s") {
      EXPECT_EQ(problem(each.text), "") << "a 0 at the end is no decimal";
      continue;
    }
    EXPECT_NE(problem(each.text).find(each.words), std::string::npos)
        << "of \"" << each.text << "\": " << problem(each.text);
  }
}

TEST(Every, ReadsBackWhatItWrites) {
  const unsigned seed = std::random_device{}();
  std::mt19937_64 dice(seed);
  const char* const units[] = {"", "ms", "s", "min", "h", "d", "mo", "y"};
  for (int i = 0; i < 2000; ++i) {
    Every every;
    const std::string unit = units[dice() % 8];
    every.clock = unit.empty()                                ? Every::Clock::iterations
                  : unit == "mo" || unit == "y" || dice() % 2 ? Every::Clock::simulation
                                                              : Every::Clock::wall;
    const auto period = [&] {
      const bool is_whole = unit.empty() || unit == "mo" || unit == "y";
      Period made{static_cast<std::int64_t>(dice() % 1'000'000) * 10 + 1,
                  is_whole ? 0 : static_cast<int>(dice() % 9), std::nullopt};
      if (!unit.empty()) made.unit = time_unit(unit);
      return made;
    };
    const std::size_t phases = dice() % 4 + 1;
    for (std::size_t k = 0; k < phases; ++k) every.phases.push_back({period(), period()});
    every.phases.back().length.reset();
    const Result<Every> again = parse_every(to_text(every));
    ASSERT_TRUE(again) << to_text(every) << ": " << again.error().message << ", seed " << seed;
    EXPECT_EQ(*again, every) << to_text(every) << ", seed " << seed;
  }
}

TEST(Every, SurvivesAnyText) {
  const unsigned seed = std::random_device{}();
  std::mt19937_64 dice(seed);
  const std::string pieces[] = {"1", "0",  ".", ",", " ",     "for", "then", "wall",
                                "h", "mo", "-", "e", "first", "\t",  "\xff", "9999999"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t k = dice() % 12; k > 0; --k)
      text += pieces[dice() % std::size(pieces)] + (dice() % 2 ? " " : "");
    const Result<Every> every = parse_every(text);
    if (every) {
      EXPECT_EQ(canonical(to_text(*every)), to_text(*every)) << text << ", seed " << seed;
    }
    if (!every) {
      EXPECT_FALSE(every.error().message.empty()) << text << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace leat::model

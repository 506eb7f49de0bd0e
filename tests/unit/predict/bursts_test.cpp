// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/bursts.hpp"

#include <gtest/gtest.h>

#include "lib/predict/compute_times.hpp"

namespace leat::predict {
namespace {

const std::vector<Trace> kTraces = {{"a", {{1000, 10}, {1100, 20}, {1300, 30}}, 1500},
                                    {"b", {{1050, 40}}, 1450}};

std::string why_refused(const Result<std::unique_ptr<BurstSource>>& source) {
  return source ? "none" : source.error().message;
}

TEST(DrawnBursts, AreAtCommonTimesWhenTheyAreSynchronised) {
  const auto source = drawn_bursts({40, 0, 1000}, 0, 1);
  for (const std::int64_t node : {0, 1, 1000}) {
    for (const std::int64_t index : {0, 1, 7}) {
      const Event burst = (*source)->at(node, index);
      EXPECT_EQ(burst.begin, 500 + 1000 * index);
      EXPECT_EQ(burst.duration, 40);
    }
  }
}

TEST(DrawnBursts, BeginAnywhereWhenTheyAreNot) {
  const auto source = drawn_bursts({40, 0, 1000}, std::nullopt, 1);
  double sum = 0;
  for (std::int64_t node = 0; node < 1000; ++node) {
    EXPECT_EQ((*source)->first(node), -1) << "that before the run may still go on";
    const std::int64_t phase = (*source)->at(node, 0).begin;
    EXPECT_TRUE(phase >= 0 && phase < 1000);
    EXPECT_EQ((*source)->at(node, 3).begin, phase + 3000);
    sum += static_cast<double>(phase);
  }
  EXPECT_NEAR(sum / 1000, 500, 30);
}

TEST(RecordedBursts, KeepTheirTimesWhenTheyAreSynchronised) {
  const auto source = recorded_bursts(kTraces, 2, 0, 1);
  EXPECT_EQ((*source)->at(0, 1).begin, 100) << "from the first start of all";
  EXPECT_EQ((*source)->at(1, 0).begin, 50);
  EXPECT_EQ((*source)->at(0, 3).begin, 500) << "once more";
  EXPECT_EQ((*source)->at(1, 1).begin, 550) << "and all together";
  EXPECT_EQ((*source)->at(1, 1).duration, 40);
}

TEST(RecordedBursts, BeginAnywhereInTheirTracesWhenTheyAreNot) {
  const auto source = recorded_bursts(kTraces, 1000, std::nullopt, 1);
  int of_a = 0;
  for (std::int64_t node = 0; node < 1000; ++node) {
    const std::int64_t first = (*source)->first(node);
    const Event burst = (*source)->at(node, first),
                before = (*source)->at(node, first - 1 < 0 ? 0 : first - 1);
    EXPECT_GT(burst.end(), 0) << "it is not over";
    EXPECT_TRUE(first == 0 || before.end() <= 0) << "and is the first that is not";
    const std::int64_t turn = burst.duration == 40 ? 1 : 3;
    of_a += turn == 3;
    EXPECT_EQ((*source)->at(node, first + turn).begin - burst.begin, turn == 3 ? 500 : 400);
  }
  EXPECT_NEAR(of_a, 500, 60) << "each node has one of them";
}

TEST(Bursts, ThatLeaveNoTimeAreRefused) {
  EXPECT_NE(why_refused(drawn_bursts({1000, 0, 1000}, {}, 1)).find("leave the simulation no time"),
            std::string::npos);
  EXPECT_NE(why_refused(drawn_bursts({800, 0.8, 1000}, {}, 1)).find("bursts of 1102 ns on average"),
            std::string::npos);
  EXPECT_NE(why_refused(drawn_bursts({10, 0, 1000}, 251, 1)).find("a quarter"), std::string::npos);
  EXPECT_NE(why_refused(drawn_bursts({10, -1, 1000}, {}, 1)).find("spread"), std::string::npos);
  EXPECT_NE(why_refused(drawn_bursts({-10, 0, 1000}, {}, 1)), "none");
  EXPECT_NE(why_refused(drawn_bursts({10, 0, 0}, {}, 1)), "none");
  const std::vector<Trace> full = {{"full", {{0, 100}, {100, 100}}, 200}};
  EXPECT_NE(why_refused(recorded_bursts(full, 1, {}, 1)).find("full: its bursts leave"),
            std::string::npos);
  const std::vector<Trace> one = {{"one", {{0, 100}}, 100}};
  EXPECT_NE(why_refused(recorded_bursts(one, 1, {}, 1)).find("# until"), std::string::npos);
}

TEST(RecordedCompute, IsFromTheEndOfACollectiveToTheNext) {
  const std::vector<Trace> traces = {{"a", {{100, 5}, {205, 10}, {315, 5}}, 400}};
  const auto times = recorded_compute(traces, 1, 1);
  EXPECT_EQ((*times)->of(0, 0), 100);
  EXPECT_EQ((*times)->of(0, 1), 100);
  EXPECT_EQ((*times)->of(0, 2), 100);
  EXPECT_FALSE(recorded_compute(kTraces, 2, 1)) << "one rank was in more collectives";
  EXPECT_FALSE(recorded_compute({{"one", {{100, 5}}, 105}}, 1, 1));
}

}  // namespace
}  // namespace leat::predict

// SPDX-License-Identifier: Apache-2.0
#include "server/engine/run_report.hpp"

#include <gtest/gtest.h>

namespace leat::plan {
namespace {

TEST(Plan, OfARunThatWaitedInItsCalls) {
  Measured run{.compute = 0.010, .inside = 0.006, .output = 0.004, .ranks = 8, .iterations = 100};
  run.is_synchronous = true;
  EXPECT_DOUBLE_EQ(expected_seconds(run), 100 * (0.010 + 0.002 + 0.004));
  run.inside = 0.003;
  EXPECT_DOUBLE_EQ(expected_seconds(run), 100 * (0.010 + 0.004));
  run.iterations = 1;
  EXPECT_DOUBLE_EQ(expected_seconds(run), 0.014) << "its dedicated core was idle";
}

// What was measured is what the model says of the run as it was.
TEST(Plan, OfARunWhoseAnalysesTookItsCores) {
  Measured run{.compute = 0.012, .analysis = 0.008, .ranks = 4, .iterations = 1001};
  run.is_shared = true;
  EXPECT_DOUBLE_EQ(expected_seconds(run), 0.010 + 0.008 + 1000 * 0.012);
  run.analysis = 1;
  EXPECT_DOUBLE_EQ(expected_seconds(run), 1 + 1000 * 1.0);
}

TEST(Plan, OneBesideTheOther) {
  Measured run{.compute = 0.010, .inside = 0.001, .output = 0.004, .ranks = 7, .iterations = 100};
  EXPECT_DOUBLE_EQ(expected_seconds(run), 0.011 + 0.004 + 99 * 0.011);
  EXPECT_EQ(overlapped_seconds(run), expected_seconds(run));
  run.output = 0.050;
  EXPECT_DOUBLE_EQ(expected_seconds(run), 0.011 + 0.050 + 99 * 0.050);
}

TEST(Plan, OfARunThatWaitedAndNeedNotHave) {
  Measured run{.compute = 0.010, .inside = 0.006, .output = 0.004, .ranks = 8, .iterations = 100};
  run.is_synchronous = true;
  EXPECT_DOUBLE_EQ(overlapped_seconds(run), 0.012 + 0.004 + 99 * 0.012);
}

}  // namespace
}  // namespace leat::plan

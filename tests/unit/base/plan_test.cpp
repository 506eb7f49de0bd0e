// SPDX-License-Identifier: Apache-2.0
#include "lib/plan/plan.hpp"

#include <gtest/gtest.h>

#include "lib/base/text.hpp"

namespace leat {
namespace {

using plan::Load;
using plan::Way;

// 8 cores, all of which may compute; 80 core-milliseconds of computing.
Load load() {
  Load load;
  load.compute = 0.010;
  load.output = 0.004;
  load.computing = load.cores = 8;
  load.iterations = 100;
  return load;
}

TEST(Plan, AllAtOneTime) {
  EXPECT_DOUBLE_EQ(plan::synchronous(load()).total, 100 * (0.010 + 0.004));
  Load with = load();
  with.inside = 0.001;
  EXPECT_DOUBLE_EQ(plan::synchronous(with).total, 100 * (0.010 + 0.001 + 0.004));
}

TEST(Plan, OfARunThatWaitedInItsCalls) {
  plan::Measured run{.compute = 0.010, .inside = 0.006, .output = 0.004, .ranks = 8};
  run.is_synchronous = true;
  EXPECT_DOUBLE_EQ(plan::load_of(run).inside, 0.002);
  EXPECT_EQ(plan::load_of(run).compute, 0.010);
  run.inside = 0.003;
  EXPECT_EQ(plan::load_of(run).inside, 0);
}

// What was measured is what the model says of the run as it was.
TEST(Plan, OfARunWhoseAnalysesTookItsCores) {
  plan::Measured run{.compute = 0.012, .analysis = 0.008, .ranks = 4, .iterations = 1000};
  EXPECT_EQ(plan::load_of(run).compute, 0.012);
  EXPECT_EQ(plan::load_of(run).cores, 5);
  run.is_shared = true;
  const Load load = plan::load_of(run);
  EXPECT_DOUBLE_EQ(load.compute, 0.010);
  EXPECT_EQ(load.cores, 4);
  EXPECT_DOUBLE_EQ(plan::dynamic(load).iteration, 0.012);
  run.analysis = 1;
  EXPECT_EQ(plan::load_of(run).compute, 0);
}

TEST(Plan, TheWayOfARunThatWas) {
  plan::Measured run{.compute = 0.010, .output = 0.004, .ranks = 4, .dedicated = 2};
  EXPECT_EQ(plan::name_of(plan::as_it_was(run)), "2 dedicated cores");
  run.is_shared = true;
  EXPECT_EQ(plan::name_of(plan::as_it_was(run)), "no dedicated core");
  run = {.compute = 0.010, .inside = 0.004, .output = 0.004, .ranks = 4, .is_synchronous = true};
  EXPECT_EQ(plan::name_of(plan::as_it_was(run)), "mode=\"sync\"");
  EXPECT_DOUBLE_EQ(plan::as_it_was(run).total, 0.014) << "its dedicated core was idle";
}

TEST(Plan, OneBesideTheOther) {
  Load with = load();
  with.inside = 0.001;
  const double computed = 0.010 * 8 / 7 + 0.001;
  const Way way = plan::dedicated(with, 1);
  EXPECT_DOUBLE_EQ(way.total, computed + 0.004 + 99 * computed);
  EXPECT_EQ(way.limit, plan::Limit::compute);
  with.output = 0.050;
  EXPECT_DOUBLE_EQ(plan::dedicated(with, 1).total, computed + 0.050 + 99 * 0.050);
  EXPECT_EQ(plan::dedicated(with, 1).limit, plan::Limit::output);
}

TEST(Plan, WhatIsSequentialStaysSo) {
  Load with = load();
  with.sequential = 0.25;
  EXPECT_DOUBLE_EQ(plan::compute_time(with, 8), 0.010);
  EXPECT_DOUBLE_EQ(plan::compute_time(with, 4), 0.0025 + 0.0075 * 2);
}

TEST(Plan, AnalysesOnTheCoresOfTheSimulation) {
  Load with = load();
  with.output = 0;
  with.analysis = 0.016;
  with.parallel = 4;
  EXPECT_DOUBLE_EQ(plan::dynamic(with).iteration, (0.080 + 0.016) / 8);
  EXPECT_EQ(plan::dynamic(with).limit, plan::Limit::cores);
  with.sequential = 0.5;  // four cores idle on average
  EXPECT_DOUBLE_EQ(plan::dynamic(with).iteration, 0.010);
}

// A core of eight costs a seventh of the time of computing.
TEST(Plan, ACoreOfItsOwnPaysWhereOutputTakesLonger) {
  for (const double output : {0.0010, 0.0014, 0.0015, 0.0030}) {
    Load with = load();
    with.output = output;
    with.iterations = 1'000'000;
    const bool pays = plan::dedicated(with, 1).total < plan::synchronous(with).total;
    EXPECT_EQ(pays, output > 0.010 / 7) << output;
  }
}

TEST(Plan, TheBestOfSeveral) {
  Load with = load();
  with.output = 0.001;
  with.analysis = 0.100;
  with.parallel = 8;
  std::vector<Way> ways = plan::ways(with);
  const Way& best = plan::best(ways);
  for (const Way& each : ways) EXPECT_GE(each.total * 1.011, best.total);
  EXPECT_EQ(ways.front().kind, Way::Kind::synchronous);
  EXPECT_EQ(ways.size(), 4u);  // one dedicated core, several, and none
  with.cores = with.computing = 1;
  EXPECT_EQ(plan::ways(with).size(), 2u);
}

TEST(Plan, WhenTheBufferIsFull) {
  Load with = load();
  with.output = 0.040;
  with.cores = 9;
  const Way way = plan::dedicated(with, 1);
  // Of each 40 ms four iterations come and one goes.
  EXPECT_DOUBLE_EQ(*plan::iterations_until_full(with, way, 10, 300), 30 / 0.75);
  with.output = 0.005;
  EXPECT_FALSE(plan::iterations_until_full(with, plan::dedicated(with, 1), 10, 300));
}

TEST(Seconds, InWords) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(2.5e-6), "2.50 us");
  EXPECT_EQ(format_seconds(0.0412), "41.2 ms");
  EXPECT_EQ(format_seconds(2.5e-10), "0.25 ns");
  EXPECT_EQ(format_seconds(0.9994), "999 ms");
  EXPECT_EQ(format_seconds(0.9996), "1.00 s");
  EXPECT_EQ(format_seconds(99), "99.0 s");
  EXPECT_EQ(format_seconds(363), "6 min 3 s");
  EXPECT_EQ(format_seconds(7500), "2 h 5 min");
}

}  // namespace
}  // namespace leat

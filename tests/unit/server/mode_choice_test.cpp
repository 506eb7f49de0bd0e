// SPDX-License-Identifier: Apache-2.0
#include "server/state/iterations/times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace leat::server {
namespace {

// A run of one rank as the engine sees it: with overlap, what an iteration computes and what is
// written of the one before take `contention` times as long.
class TimedRun {
 public:
  double computing = 0.010, output = 0.010, contention = 1;

  explicit TimedRun(std::int64_t period = 1) : choice(period), period_(period) {}

  void go(std::int64_t iterations) {
    for (const std::int64_t end = number_ + iterations; number_ < end;) iterate();
  }
  double seconds() const { return now_.now_ns / 1e9; }

  ModeChoice choice;
  int turns = 0;  ///< of choice.overlaps()

 private:
  void iterate() {
    const bool is_due = number_ % period_ == 0;
    const double written = is_due ? output : 0;
    const bool overlaps = choice.overlaps();
    const double slower = overlaps ? contention : 1;
    const double whole = overlaps ? std::max(computing, written) * slower : computing + written;
    now_.now_ns += static_cast<std::int64_t>(std::llround(whole * 1e9));
    now_.computing += computing * slower;
    now_.output += written * slower;
    now_.finished = number_++;
    now_.entered = number_;
    choice.advance(now_);
    turns += choice.overlaps() != overlaps;
  }

  std::int64_t period_, number_ = 0;
  ModeChoice::Progress now_;
};

TEST(ModeChoice, OverlapsWhatItCanHide) {
  TimedRun run;
  run.go(40);
  ASSERT_TRUE(run.choice.decision());
  EXPECT_TRUE(run.choice.overlaps());
  EXPECT_NEAR(run.choice.decision()->waiting->whole, 0.020, 1e-6);
  EXPECT_NEAR(run.choice.decision()->overlapping->whole, 0.010, 1e-6);
  EXPECT_NEAR(run.choice.decision()->waiting->computing, 0.010, 1e-6);
  EXPECT_EQ(run.choice.decision()->changes, 0);
}

TEST(ModeChoice, WaitsWhereOneIsSlowedDownByTheOther) {
  TimedRun run;
  run.contention = 2.2;  // no core is free
  run.go(60);
  ASSERT_TRUE(run.choice.decision());
  EXPECT_FALSE(run.choice.overlaps());
  run.go(1000);
  EXPECT_LE(run.turns, 4);
}

TEST(ModeChoice, WaitsWhereBothAreAlike) {
  TimedRun run;
  run.contention = 2;
  run.go(100);
  EXPECT_FALSE(run.choice.overlaps());
}

TEST(ModeChoice, TriesNothingWhereThereIsNextToNothingToHide) {
  TimedRun run;
  run.computing = 0.0001;
  run.go(1000);
  EXPECT_FALSE(run.choice.overlaps());
  EXPECT_EQ(run.turns, 0);
  EXPECT_FALSE(run.choice.decision()->overlapping);
}

TEST(ModeChoice, DoesNotWaitForNextToNothing) {
  TimedRun run;
  run.output = 0.0001;
  run.go(1000);
  EXPECT_TRUE(run.choice.overlaps());
  EXPECT_EQ(run.turns, 1);
}

TEST(ModeChoice, DecidesAnewInBothDirections) {
  TimedRun run;
  run.go(200);
  EXPECT_TRUE(run.choice.overlaps());
  run.contention = 3;
  run.go(200);
  EXPECT_FALSE(run.choice.overlaps());
  EXPECT_EQ(run.choice.decision()->changes, 1);
  run.contention = 1;
  run.computing = 0.020;
  run.go(300);
  EXPECT_TRUE(run.choice.overlaps());
  EXPECT_EQ(run.choice.decision()->changes, 2);
  EXPECT_GT(run.choice.decision()->since, 400);
}

TEST(ModeChoice, DoesNotFlapWhenTimesGoUpAndDown) {
  TimedRun run;
  for (int i = 0; i < 1000; ++i) {
    run.computing = i % 2 ? 0.010 : 0.015;
    run.contention = i % 3 ? 2.1 : 1.0;
    run.go(10);
  }
  EXPECT_LE(run.turns, 60);  // of 10,000 iterations
}

TEST(ModeChoice, CountsWholePeriodsOfOutput) {
  TimedRun run(10);
  run.output = 0.1;
  run.go(100);
  ASSERT_TRUE(run.choice.decision());
  EXPECT_NEAR(run.choice.decision()->waiting->whole, 0.020, 1e-6);
  EXPECT_NEAR(run.choice.decision()->waiting->output, 0.010, 1e-6);
}

TEST(ModeChoice, NeverTakesMuchLongerThanWaiting) {
  for (const double share : {0.01, 0.1, 0.5, 1.0, 3.0, 30.0}) {
    for (const double contention : {1.0, 1.3, 2.0, 3.0}) {
      TimedRun run;
      run.computing = share * run.output;
      run.contention = contention;
      run.go(400);
      EXPECT_LE(run.seconds(), 1.05 * 400 * (run.computing + run.output))
          << share << " " << contention;
    }
  }
}

TEST(ModeChoice, ServerThatTakesOverBeginsAnew) {
  ModeChoice choice(1);
  ModeChoice::Progress now;
  for (std::int64_t i = 500; i < 540; ++i) {
    now.finished = i;
    now.entered = i + 1;
    now.now_ns += choice.overlaps() ? 10'000'000 : 20'000'000;
    now.computing += 0.010;
    now.output += 0.010;
    choice.advance(now);
  }
  EXPECT_TRUE(choice.overlaps());
  EXPECT_GT(choice.decision()->since, 500);
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// integration.report follows in real runs what is said here.
#include "server/engine/run_report.hpp"

#include <gtest/gtest.h>

namespace leat::server {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// 20 s of which ranks wait more than half for a full buffer, as a store takes the time that three
// iterations compute.
RunReport held_up() {
  RunReport report;
  report.all_went_well = true;
  report.iterations = 1000;
  report.seconds = 20;
  report.times.intervals = 999;
  report.times.seconds = 0.02;
  report.times.inside = 0.0134;
  report.waited_for_memory = 0.0132;
  report.stores = {{"out", 1000, 19.8}};
  report.bytes = 1000 * kMiB;
  report.buffer_bytes = report.most_used_bytes = 8 * kMiB;
  return report;
}

RunReport waiting_for_output() {
  RunReport report = held_up();
  report.synchronous = true;
  report.waited_for_memory = 0;
  report.times.inside = 0.0101;
  report.stores = {{"out", 1000, 10}};
  return report;
}

TEST(Advice, NamesTheStoreThatIsTooSlowAndHowOftenItKeepsUp) {
  EXPECT_EQ(
      advice(held_up()),
      "ranks waited 66 % of the time, as the buffer was full; store \"out\" takes 19.8 ms a "
      "call, and an iteration computes for 6.60 ms: with every=\"4\" it keeps up, if you need "
      "it no more often");
}

TEST(Advice, NamesASizeWhereTheBufferHasNoRoomForTwoIterations) {
  RunReport report = held_up();
  report.bytes = 5000 * kMiB;
  EXPECT_EQ(advice(report),
            "ranks waited 66 % of the time, as the buffer was full; it has no room for two "
            "iterations of 5 MiB: <buffer size=\"15 MiB\"> has, if the node has that memory");
}

TEST(Advice, OffersOverlapWhereRanksWaitAndTheServersCoreIsIdle) {
  EXPECT_NE(advice(waiting_for_output()).find("with mode=\"async\""), std::string::npos);
  for (bool RunReport::*without : {&RunReport::is_shared, &RunReport::automatic}) {
    RunReport report = waiting_for_output();
    report.*without = true;
    EXPECT_EQ(advice(report), "");
  }
}

TEST(Advice, IsNotGivenWhereTheModelIsFarFromWhatWasMeasured) {
  RunReport report = waiting_for_output();
  report.seconds = 30;
  EXPECT_EQ(advice(report), "");
}

TEST(Advice, IsNotGivenInShortRuns) {
  RunReport report = held_up();
  report.seconds = 9.9;
  EXPECT_EQ(advice(report), "");
}

TEST(Advice, IsNotGivenWhereSomethingWentWrong) {
  for (RunReport report : {held_up(), waiting_for_output()}) {
    report.all_went_well = false;
    EXPECT_EQ(advice(report), "");
  }
}

TEST(Advice, IsNotGivenWhereNobodyWaits) {
  RunReport report = held_up();
  report.waited_for_memory = 0;
  EXPECT_EQ(advice(report), "") << "time in calls is copying, and the store is as slow as it is";
}

}  // namespace
}  // namespace leat::server

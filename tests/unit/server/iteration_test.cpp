// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "server/state/iterations/tracker.hpp"

namespace leat::server {
namespace {

Block block(std::uint32_t client, std::uint32_t variable, std::uint32_t number = 0) {
  Block made;
  made.client = client;
  made.rank = static_cast<std::int32_t>(client);
  made.variable = variable;
  made.block = number;
  return made;
}

TEST(IterationTracker, AnIterationIsCompleteWhenEveryClientHasEndedIt) {
  IterationTracker tracker(2);
  tracker.add(block(0, 0));
  tracker.ended(0, tracker.current(0));
  tracker.add(block(0, 1));  // of iteration 1 already
  EXPECT_FALSE(tracker.take_complete());
  tracker.ended(1, tracker.current(1));
  const auto first = tracker.take_complete();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->number, 0);
  EXPECT_TRUE(first->complete);
  EXPECT_EQ(first->blocks.size(), 1u);
  EXPECT_FALSE(tracker.take_complete());
  EXPECT_EQ(tracker.oldest(), 1);
}

TEST(IterationTracker, BlocksAreOrderedByVariableRankAndNumber) {
  IterationTracker tracker(2);
  for (const Block& each : {block(1, 1), block(0, 1, 2), block(0, 1, 0), block(1, 0)})
    tracker.add(each);
  tracker.ended(0, tracker.current(0));
  tracker.ended(1, tracker.current(1));
  std::vector<std::array<std::uint32_t, 3>> order;
  const std::optional<Iteration> whole = tracker.take_complete();
  for (const Block& b : whole->blocks) order.push_back({b.variable, b.client, b.block});
  EXPECT_EQ(order, (std::vector<std::array<std::uint32_t, 3>>{
                       {0, 1, 0}, {1, 0, 0}, {1, 0, 2}, {1, 1, 0}}));
}

TEST(IterationTracker, ABlockThatComesAgainReplacesTheFirst) {
  IterationTracker tracker(1);
  Block first = block(0, 0);
  first.lease = 111;
  EXPECT_FALSE(tracker.add(first));
  EXPECT_EQ(tracker.add(block(0, 0))->lease, 111u);
}

TEST(IterationTracker, ADeadClientMakesItsOpenIterationsIncompleteAndAFinishedOneDoesNot) {
  IterationTracker tracker(3);
  for (const std::uint32_t client : {0u, 1u, 2u}) tracker.add(block(client, 0));
  tracker.ended(0, tracker.current(0));
  tracker.add(block(0, 0));
  tracker.gone(1, true);
  tracker.ended(2, tracker.current(2));
  tracker.gone(2, false);
  EXPECT_FALSE(tracker.take_complete()->complete);
  tracker.ended(0, tracker.current(0));
  EXPECT_FALSE(tracker.take_complete()->complete) << "the dead client is missing here too";

  IterationTracker finished(2);
  finished.ended(0, finished.current(0));
  finished.gone(0, false);
  finished.ended(1, finished.current(1));
  finished.add(block(1, 0));
  finished.ended(1, finished.current(1));
  EXPECT_TRUE(finished.take_complete()->complete);
}

TEST(IterationTracker, ADroppedIterationGivesItsBlocksBackAndTakesNoMore) {
  IterationTracker tracker(2);
  tracker.add(block(0, 0));
  tracker.ended(0, tracker.current(0));
  tracker.add(block(0, 1));  // of iteration 1
  const auto dropped = tracker.drop(0);
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->size(), 1u);
  EXPECT_FALSE(tracker.drop(0)) << "it is dropped already";
  Block late = block(1, 3);
  late.lease = 77;
  EXPECT_EQ(tracker.add(late)->lease, 77u) << "to be released";
  EXPECT_EQ(tracker.oldest(), 1);
  EXPECT_TRUE(tracker.is_dropped(0));
  tracker.ended(1, tracker.current(1));
  EXPECT_FALSE(tracker.is_dropped(0)) << "nobody can write into it any more";
  tracker.add(block(1, 1));
  tracker.ended(0, tracker.current(0));
  tracker.ended(1, tracker.current(1));
  const auto next = tracker.take_complete();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->number, 1);
  EXPECT_TRUE(next->complete);
  EXPECT_EQ(next->blocks.size(), 2u);
  EXPECT_TRUE(tracker.empty());
}

TEST(IterationTracker, ClientsMayBeginWithAnotherIterationThanTheFirst) {
  IterationTracker tracker(2);
  EXPECT_EQ(tracker.first(), 0);
  tracker.touch(0);  // asked for before anybody had begun
  tracker.begin_at(0, 100);
  EXPECT_EQ(tracker.first(), 100);
  EXPECT_EQ(tracker.least(), 0) << "the other one may begin there";
  EXPECT_FALSE(tracker.close_before_first());
  tracker.begin_at(1, 100);
  EXPECT_EQ(tracker.least(), 100);
  EXPECT_TRUE(tracker.close_before_first());
  EXPECT_FALSE(tracker.take_complete());
  tracker.touch(100);
  tracker.ended(0, 100);
  EXPECT_FALSE(tracker.take_complete());
  tracker.ended(1, 100);
  EXPECT_EQ(tracker.take_complete()->number, 100);
}

TEST(IterationTracker, WhatCameBeforeAClientHasBegunIsOfItsFirstIteration) {
  IterationTracker tracker(3);
  for (std::uint32_t client = 0; client < 3; ++client) EXPECT_FALSE(tracker.add(block(client, 1)));
  tracker.begin_at(0, 100);
  tracker.gone(1, true);
  EXPECT_FALSE(tracker.close_before_first()) << "the third one may begin in iteration 0";
  tracker.begin_at(2, 100);
  EXPECT_TRUE(tracker.close_before_first());
  tracker.ended(0, 100);
  tracker.ended(2, 100);
  const auto next = tracker.take_complete();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->number, 100);
  EXPECT_FALSE(next->complete);
  EXPECT_EQ(next->blocks.size(), 3u) << "of the one that died too";
  EXPECT_TRUE(tracker.empty() && tracker.take_left_out().empty());
}

TEST(IterationTracker, WhatCameBeforeIsLeftOutWithTheIterationThatItIsOf) {
  IterationTracker tracker(1);
  tracker.add(block(0, 1));
  tracker.drop(7);
  tracker.begin_at(0, 7);
  EXPECT_TRUE(tracker.close_before_first());
  EXPECT_EQ(tracker.take_left_out().size(), 1u);
  EXPECT_TRUE(tracker.empty());
}

TEST(IterationTracker, AnIterationThatNobodyHasReachedCanBeDropped) {
  IterationTracker tracker(1);
  EXPECT_TRUE(tracker.drop(0)->empty());
  EXPECT_TRUE(tracker.add(block(0, 0)));
  tracker.ended(0, tracker.current(0));
  EXPECT_FALSE(tracker.add(block(0, 0))) << "the next one is not dropped";
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/rounds.hpp"

#include <gtest/gtest.h>

namespace leat::comm {
namespace {

Partial partial(Rank by, const RankSet& of, std::int64_t value) {
  return {{0, 1}, by, of, {Integers{Op::sum, {value}}}};
}

std::int64_t of_outcome(const Outcome& outcome) {
  return std::get<Integers>(outcome.columns[0]).values[0];
}

TEST(Rounds, TakeWhatCameTwiceOnce) {
  Rounds rounds(0, 10);
  rounds.contribute({0, 1}, {Integers{Op::sum, {1}}});
  rounds.add(partial(2, RankSet(2), 100), true);
  rounds.add(partial(1, RankSet(1, 2), 110), true);
  rounds.add(partial(1, RankSet(1, 2), 110), true);
  const std::vector<Outcome> outcomes = rounds.take_complete(RankSet(0, 2));
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(of_outcome(outcomes[0]), 111);
  rounds.add(partial(1, RankSet(1, 2), 110), true);  // late
  EXPECT_EQ(rounds.open(), 0U);
}

TEST(Rounds, LeaveOutWhoDoesNotFitTheOthers) {
  Rounds rounds(0, 10);
  rounds.contribute({0, 1}, {Reals{Op::min, {1.0}}});  // the one that is wrong, be it the root
  rounds.add(partial(1, RankSet(1), 10), true);
  rounds.add({{0, 1}, 2, RankSet(2), {}}, true);  // has nothing to say
  rounds.add(partial(3, RankSet(3), 30), true);
  const std::vector<Outcome> outcomes = rounds.take_complete(RankSet(0, 3));
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].of, RankSet(1, 3));
  EXPECT_EQ(of_outcome(outcomes[0]), 40);
}

TEST(Rounds, OfAServerInTheTreeBecomeOneAndWhatComesLaterIsSentOn) {
  Rounds rounds(1, 10);
  rounds.add(partial(3, RankSet(3), 100), true);
  EXPECT_TRUE(rounds.take_ready(RankSet(3, 4)).empty());
  rounds.contribute({0, 1}, {Integers{Op::sum, {1}}});
  EXPECT_TRUE(rounds.take_ready(RankSet(3, 4)).empty());
  std::vector<Partial> ready = rounds.take_ready(RankSet(3));  // 4 is there no longer
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_EQ(ready[0].of, RankSet(1) + RankSet(3));
  rounds.add(partial(4, RankSet(4), 1000), true);
  ready = rounds.take_ready(RankSet(3));
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_EQ(ready[0].by, 4);
  EXPECT_EQ(rounds.sent().size(), 2U);
}

TEST(Rounds, AreBounded) {
  Rounds rounds(0, 2);
  EXPECT_TRUE(rounds.contribute({0, 1}, {}));
  EXPECT_TRUE(rounds.contribute({0, 2}, {}));
  EXPECT_FALSE(rounds.contribute({0, 3}, {}));
  rounds.add({{7, 1}, 1, RankSet(1), {}}, true);
  EXPECT_EQ(rounds.open(), 2U);
}

}  // namespace
}  // namespace leat::comm

// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/rounds.hpp"

#include <gtest/gtest.h>

#include <set>

namespace leat::comm {
namespace {

Partial partial(Rank by, const RankSet& of, std::int64_t value) {
  return {{0, 1}, by, of, {}, INT64_MIN, {Integers{Op::sum, {value}}}};
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
  rounds.end({0, 1}, 1);
  rounds.add(partial(1, RankSet(1, 2), 110), true);  // late
  EXPECT_EQ(rounds.open(), 0U);
}

TEST(Rounds, LeaveOutWhoDoesNotFitTheOthers) {
  Rounds rounds(0, 10);
  rounds.contribute({0, 1}, {Reals{Op::min, {1.0}}});  // the one that is wrong, be it the root
  rounds.add(partial(1, RankSet(1), 10), true);
  rounds.add({{0, 1}, 2, RankSet(2), {}, INT64_MIN, {}}, true);  // has nothing to say
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

TEST(Rounds, MayBeSkippedByWhoContributesToALaterOne) {
  Rounds rounds(0, 10);
  rounds.contribute({0, 1}, {Integers{Op::sum, {1}}});
  EXPECT_TRUE(rounds.take_complete(RankSet(0, 2)).empty());
  rounds.add({{0, 7}, 1, RankSet(1), {}, INT64_MIN, {}}, true);
  rounds.add({{0, 1}, -1, {}, RankSet(2), INT64_MIN, {}}, true);  // so says one between
  const std::vector<Outcome> outcomes = rounds.take_complete(RankSet(0, 2));
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].of, RankSet(0, 2));
  EXPECT_EQ(of_outcome(outcomes[0]), 1);
  rounds.end({0, 1}, 1);
  EXPECT_EQ(rounds.awaited(0, RankSet(0, 2)), RankSet(0) + RankSet(2));
}

TEST(Rounds, AreNotSkippedByWhoHasAnOutcomeThatIsUnknownHere) {
  Rounds rounds(0, 10);
  rounds.contribute({0, 3}, {});
  rounds.add({{0, 7}, 1, RankSet(1), {}, 3, {}}, true);  // 3 is over there
  EXPECT_TRUE(rounds.take_complete(RankSet(0, 1)).empty());
  rounds.add({{0, 7}, 1, RankSet(1), {}, 2, {}}, true);  // and elsewhere it is not
  rounds.end({0, 2}, 1);
  EXPECT_EQ(rounds.take_complete(RankSet(0, 1)).size(), 1U);
}

// Whatever came first: the later round, or that an earlier one is over.
TEST(Rounds, AreSkippedByWhoseEarlierRoundsAreOverHereToo) {
  Rounds rounds(0, 10);
  rounds.add({{0, 7}, 1, RankSet(1), {}, 2, {}}, true);  // 2 is over there
  rounds.contribute({0, 5}, {});
  EXPECT_EQ(rounds.awaited(0, RankSet(0, 1)), RankSet(1));
  rounds.end({0, 2}, 1);
  EXPECT_EQ(rounds.awaited(0, RankSet(0, 1)), RankSet());
  rounds.add({{0, 6}, 2, RankSet(2), {}, 2, {}}, true);
  EXPECT_EQ(rounds.awaited(0, RankSet(0, 3)), RankSet(3));
  const std::vector<Outcome> outcomes = rounds.take_complete(RankSet(0, 2));
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].round.number, 5);
  EXPECT_EQ(outcomes[0].of, RankSet(0, 2));
  EXPECT_EQ(rounds.awaited(0, RankSet(0, 2)), RankSet(0));  // 6, to which 1 has skipped with 7
}

TEST(Rounds, OfAServerInTheTreeAreSentOnInTheirOrderAndSayWhoSkipsThem) {
  Rounds rounds(1, 10);
  rounds.contribute({0, 5}, {});
  rounds.add({{0, 4}, 3, RankSet(3), {}, INT64_MIN, {}}, true);
  rounds.add({{0, 5}, 3, RankSet(3), {}, INT64_MIN, {}}, true);
  EXPECT_TRUE(rounds.take_ready(RankSet(3, 4)).empty());
  rounds.add({{0, INT64_MAX}, 4, RankSet(4), {}, INT64_MIN, {}}, true);
  const std::vector<Partial> ready = rounds.take_ready(RankSet(3, 4));
  ASSERT_EQ(ready.size(), 2U);  // 1 and 3 have not ended yet
  EXPECT_EQ(ready[0].round.number, 4);
  EXPECT_EQ(ready[0].of, RankSet(3));
  EXPECT_EQ(ready[0].passed, RankSet(1) + RankSet(4));
  EXPECT_EQ(ready[1].of, RankSet(1) + RankSet(3));
  EXPECT_EQ(ready[1].passed, RankSet(4));
}

// Else a root to which it is not over takes its contribution for nothing.
TEST(Rounds, AreSaidToBeSkippedWithWhatIsOverWhereThatCameFrom) {
  Rounds rounds(1, 10);
  rounds.contribute({0, 7}, {});
  rounds.add({{0, 7}, 4, RankSet(4), {}, INT64_MIN, {}}, true);
  EXPECT_EQ(rounds.take_ready(RankSet(4)).size(), 1U);
  rounds.add({{0, 7}, 4, {}, RankSet(9), 3, {}}, true);  // 3 is over at 4, which 9 contributed to
  const std::vector<Partial> ready = rounds.take_ready(RankSet(4));
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_EQ(ready[0].passed, RankSet(9));
  Rounds root(0, 10);
  root.contribute({0, 3}, {});
  root.add(ready[0], true);
  EXPECT_TRUE(root.take_complete(RankSet(0) + RankSet(9)).empty());
  root.add({{0, 3}, 9, RankSet(9), {}, INT64_MIN, {}}, true);
  ASSERT_EQ(root.take_complete(RankSet(0) + RankSet(9)).size(), 1U);
}

TEST(Rounds, ChannelsThatEndedAreForgotten) {
  Rounds rounds(0, 10);
  for (std::uint64_t channel = 0; channel < 100; ++channel) {
    rounds.contribute({channel, INT64_MAX}, {});
    ASSERT_EQ(rounds.take_complete(RankSet(0)).size(), 1U);
    rounds.end({channel, INT64_MAX}, static_cast<std::int64_t>(channel) + 1);
    rounds.forget(static_cast<std::int64_t>(channel));
    EXPECT_NE(rounds.contribute({channel, INT64_MAX}, {}), "");
  }
  EXPECT_EQ(rounds.channels(), 1U);
}

// Each server has such a channel for each other one when stores write in turn.
TEST(Rounds, ThatEndAChannelKeepNoOtherFromBeingAwaitedAndAreAwaitedThemselves) {
  constexpr std::uint64_t kEnds = 40;
  Rounds rounds(0, 1000);
  for (std::uint64_t channel = 0; channel < kEnds; ++channel)
    rounds.contribute({channel, INT64_MAX}, {});
  rounds.contribute({kEnds, 7}, {});
  EXPECT_TRUE(rounds.waiting(RankSet(0, 1)).empty());
  std::set<std::uint64_t> channels;
  for (int i = 0; i < 4; ++i) {
    const std::vector<Awaited> some = rounds.waiting(RankSet(0, 1));
    ASSERT_EQ(some.size(), 16U);
    EXPECT_EQ(some[0].round, (Round{kEnds, 7}));
    EXPECT_EQ(some[0].of, RankSet(1));
    for (const Awaited& each : some) channels.insert(each.round.channel);
  }
  EXPECT_EQ(channels.size(), kEnds + 1);
}

TEST(Rounds, AreBounded) {
  Rounds rounds(0, 2);
  EXPECT_EQ(rounds.contribute({0, 1}, {}), "");
  EXPECT_EQ(rounds.contribute({0, 2}, {}), "");
  EXPECT_NE(rounds.contribute({0, 3}, {}), "");
  rounds.add({{7, 1}, 1, RankSet(1), {}, INT64_MIN, {}}, true);
  EXPECT_EQ(rounds.open(), 2U);
  EXPECT_TRUE(rounds.is_full_for({7, 1}));
  EXPECT_FALSE(rounds.is_full_for({0, 1}));
}

// Of whom it is says the outcome, and on the way nothing is made too long.
TEST(Rounds, ThatGatherMoreThanALinkTakesLeaveOutSome) {
  const auto said = [](Rank rank) { return Columns{Gathered{{{rank, std::string(100, 'x')}}}}; };
  Rounds below(1, 10, 300), root(0, 10, 300);
  root.contribute({0, 1}, said(0));
  below.contribute({0, 1}, said(1));
  for (Rank rank = 2; rank < 5; ++rank)
    below.add({{0, 1}, rank, RankSet(rank), {}, INT64_MIN, said(rank)}, true);
  for (Partial& each : below.take_ready(RankSet(2, 4))) {
    EXPECT_LE(bytes_in(each.columns), 300U);
    root.add(std::move(each), true);
  }
  const std::vector<Outcome> outcomes = root.take_complete(RankSet(0, 4));
  ASSERT_EQ(outcomes.size(), 1U);
  const auto& parts = std::get<Gathered>(outcomes[0].columns[0]).parts;
  EXPECT_LE(bytes_in(outcomes[0].columns), 300U);
  EXPECT_EQ(parts.size(), 2U);
  EXPECT_EQ(outcomes[0].of.count(), 2U);
  for (const auto& [rank, text] : parts) EXPECT_TRUE(outcomes[0].of.has(rank));
}

}  // namespace
}  // namespace leat::comm

// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/all_reduce.hpp"

#include <gtest/gtest.h>

#include "lib/predict/prediction.hpp"

namespace leat::predict {
namespace {

using Times = std::vector<std::int64_t>;

MessageCosts costs_of(const Machine& machine, std::int64_t bytes) {
  const Result<MessageCosts> costs = message_costs(machine, bytes);
  EXPECT_TRUE(costs) << costs.error().message;
  return *costs;
}

// Ranks that arrive when the test says.
struct Arrivals final : ComputeTimes {
  explicit Arrivals(Times times) : ns(std::move(times)) {}
  std::int64_t of(std::int64_t rank, std::int64_t) const override {
    return ns[static_cast<std::size_t>(rank)];
  }
  Times ns;
};

// Bursts of nodes that the test names, and none after them.
struct NamedBursts final : BurstSource {
  explicit NamedBursts(std::vector<std::vector<Event>> events) : of(std::move(events)) {}
  std::int64_t first(std::int64_t) const override { return 0; }
  Event at(std::int64_t node, std::int64_t index) const override {
    const auto& events = of[static_cast<std::size_t>(node)];
    const auto i = static_cast<std::size_t>(index);
    return i < events.size() ? events[i] : Event{std::int64_t{1} << 60, 0};
  }
  std::vector<std::vector<Event>> of;
};

Times after_one(const Machine& machine, std::int64_t bytes, Times arrivals,
                std::vector<std::vector<Event>> bursts = {}, std::int64_t per_node = 1) {
  const NamedBursts named(std::move(bursts));
  const auto ranks = static_cast<std::int64_t>(arrivals.size());
  RankClocks clocks(costs_of(machine, bytes), ranks, per_node, named.of.empty() ? nullptr : &named);
  clocks.compute(Arrivals(std::move(arrivals)), 0);
  clocks.all_reduce();
  return clocks.now();
}

// V1. ceil(log2 P) (2o + L + (s-1)G), with L = 2500, o = 1500, G = 6 ns.
TEST(AllReduce, TakesTheClosedFormWithoutBursts) {
  const Machine machine;
  EXPECT_EQ(undisturbed_all_reduce_ns(costs_of(machine, 1), 16), 22000);
  EXPECT_EQ(undisturbed_all_reduce_ns(costs_of(machine, 8), 65536), 88672);
  for (const std::int64_t ranks : {1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 65535, 65537}) {
    std::int64_t rounds = 0;
    while ((std::int64_t{1} << rounds) < ranks) ++rounds;
    for (const std::int64_t bytes : {1, 8, 1000})
      EXPECT_EQ(undisturbed_all_reduce_ns(costs_of(machine, bytes), ranks),
                rounds * (2 * 1500 + 2500 + (bytes - 1) * 6))
          << ranks << " ranks, " << bytes << " bytes";
  }
}

// V2. Small cases worked by hand, on a machine of round numbers: L = 100, o = 10, g = 5, G = 1. LogGOPSim
// (76451de), given the schedule that --export-goal writes, ends at the same times, but where it is said.
constexpr Machine kRound{100, 10, 5, 1, 0, 65535};

TEST(AllReduce, OfTwoRanksEndsWithTheLaterOne) {
  // Rank 0 sends at 0-10, rank 1 at 50-60. Rank 0 has the message at 160, and is done at 170; that
  // to rank 1 is there at 110, it has received at 120.
  EXPECT_EQ(after_one(kRound, 1, {0, 50}), (Times{170, 120}));
}

TEST(AllReduce, ReceivesWhatIsThereWhenItComesLate) {
  // Rank 1 sends at 500-510, and receives at once what came at 110: 520. Rank 0 has it at 610.
  EXPECT_EQ(after_one(kRound, 1, {0, 500}), (Times{620, 520}));
}

TEST(AllReduce, OfMoreBytesTakesTheReceiverAsMuchLonger) {
  // Of 11 bytes the other ten arrive in 10 ns, behind o.
  EXPECT_EQ(after_one(kRound, 11, {0, 50}), (Times{180, 130}));
}

TEST(AllReduce, OfThreeRanksChainsItsRounds) {
  // Round 0, r from r-1. Sends: 0-10, 0-10, 200-210. Rank 0 from 2: there at 310, done 320. Rank 1
  // from 0: 110, done 120. Rank 2 from 1: there at 110, received behind its send, done 220.
  // Round 1, r from r-2. Sends: 320-330, 120-130, 220-230. Rank 0 from 1: there at 230, received
  // behind its send, done 340. Rank 1 from 2: 330, done 340. Rank 2 from 0: 430, done 440.
  // LogGOPSim's rank 0 is done at 330: it has paid the o of round 1 at 230, while it waited for round 0.
  EXPECT_EQ(after_one(kRound, 1, {0, 0, 200}), (Times{340, 340, 440}));
}

TEST(AllReduce, OfFourRanksWaitsForALateOneByTwoWays) {
  // Rank 3 arrives at 1000. Round 0: sends 0-10 thrice, 1000-1010. Rank 0 from 3: 1110, done 1120;
  // ranks 1 and 2: 110, done 120; rank 3: behind its send, 1020.
  // Round 1, from r-2: sends 1130, 130, 130, 1030. Rank 0 from 2: there at 230, done 1140. Rank 1
  // from 3: there at 1130, done 1140. Rank 2 from 0: 1230, done 1240. Rank 3 from 1: done 1040.
  // LogGOPSim: 1130, 1150, 1240, 1040. Rank 0 has paid the o of round 1 before; rank 3, which finds the
  // messages of both rounds, pays for both before it sends on, so that rank 1 gets it later.
  EXPECT_EQ(after_one(kRound, 1, {0, 0, 0, 1000}), (Times{1140, 1140, 1240, 1040}));
}

TEST(AllReduce, OfFiveRanksHasThreeRounds) {
  // Each round takes 10 + 100 + 10.
  EXPECT_EQ(after_one(kRound, 1, {0, 0, 0, 0, 0}), Times(5, 360));
}

TEST(AllReduce, OfOneRankIsNothing) { EXPECT_EQ(after_one(kRound, 1, {70}), Times{70}); }

TEST(AllReduce, WaitsForTheGapBetweenSendsWhereThatIsLonger) {
  // g = 500. Sends of round 0 at 0-10, received at 110-120; the next sends begin at 500, not at 120.
  // There at 610, which is 500 behind the receive at 110: done 620.
  Machine slow = kRound;
  slow.gap = 500;
  EXPECT_EQ(after_one(slow, 1, {0, 0, 0, 0}), Times(4, 620));
  // g = 600: sends at 600, there at 710, which again is the 600 of two receives. Done 720.
  slow.gap = 600;
  EXPECT_EQ(after_one(slow, 1, {0, 0, 0, 0}), Times(4, 720));
}

TEST(AllReduce, HoldsTheSenderForEachByteWhereThatIsCpuTime) {
  // O = 50, two bytes. The send takes 10, the message is gone; the sender works 50 more, to 60.
  // There at 110: 10, and 50 for the byte.
  Machine busy = kRound;
  busy.overhead_per_byte = 50;
  EXPECT_EQ(after_one(busy, 2, {0, 0}), (Times{170, 170}));
  // O = 150: the sender works to 160, and then receives what is there at 110: 170, and 150.
  busy.overhead_per_byte = 150;
  EXPECT_EQ(after_one(busy, 2, {0, 0}), (Times{320, 320}));
}

TEST(Bursts, DelayComputingByAsLongAsTheyTake) {
  // 30 of 50 are computed when it begins, 20 when it has ended at 130. Sent at 160, there at 260.
  EXPECT_EQ(after_one(kRound, 1, {0, 50}, {{}, {{30, 100}}}), (Times{270, 170}));
}

TEST(Bursts, DelayASendAndItsMessage) {
  // Sends at 0-5 and, behind the burst, 105-110.
  EXPECT_EQ(after_one(kRound, 1, {0, 0}, {{{5, 100}}, {}}), (Times{120, 220}));
}

TEST(Bursts, DoNotDelayTheNetwork) {
  // From when the message is gone until it is there.
  EXPECT_EQ(after_one(kRound, 1, {0, 0}, {{{10, 100}}, {{20, 90}}}), (Times{120, 120}));
}

TEST(Bursts, DelayAReceiveUntilTheyEnd) {
  // The message is there at 110, in the midst of the burst that ends at 300.
  EXPECT_EQ(after_one(kRound, 1, {0, 0}, {{{50, 250}}, {}}), (Times{310, 120}));
}

TEST(Bursts, ThatBeginInTheMidstOfAReceiveDelayTheRestOfIt) {
  // 4 of 10 before it, 6 behind it.
  EXPECT_EQ(after_one(kRound, 1, {0, 0}, {{{114, 50}}, {}}), (Times{170, 120}));
}

TEST(Bursts, ThatFollowEachOtherDelayByAllOfThem) {
  // The second is due while the first still goes on: it begins when that ends.
  EXPECT_EQ(after_one(kRound, 1, {0, 0}, {{{110, 50}, {130, 70}}, {}}), (Times{240, 120}));
}

TEST(Bursts, OfANodeDelayAllItsRanks) {
  // Ranks 0 and 1 are one node: both have sent at 110, ranks 2 and 3 at 10.
  const Times now = after_one(kRound, 1, {0, 0, 0, 0}, {{{0, 100}}, {}}, 2);
  // Round 0, from r-1: 0 from 3: behind its send, 120. 1 from 0: 210, 220. 2 from 1: 220. 3: 120.
  // Round 1, from r-2: sent 130, 230, 230, 130. 0 from 2: 330, 340. 1 from 3: behind its send, 240.
  // 2 from 0: behind its send, 240. 3 from 1: 340.
  EXPECT_EQ(now, (Times{340, 240, 240, 340}));
}

TEST(Bursts, BeforeARunOrWhileRanksWaitCostNothing) {
  EXPECT_EQ(after_one(kRound, 1, {0, 500}, {{{-100, 90}, {20, 400}}, {}}), (Times{620, 520}));
}

TEST(AMachine, ThatCannotBeIsRefused) {
  EXPECT_FALSE(message_costs({-1, 0, 0, 0, 0, 10}, 1));
  EXPECT_FALSE(message_costs({0, 0, 0, -0.5, 0, 10}, 1));
  EXPECT_FALSE(message_costs({0, kLongestNs + 1, 0, 0, 0, 10}, 1));
  EXPECT_FALSE(message_costs({0, 0, 0, 1e15, 0, 10}, 3));
  EXPECT_FALSE(message_costs({0, 0, 0, 0, 0, 10}, 0));
  const Result<MessageCosts> large = message_costs({0, 0, 0, 0, 0, 10}, 11);
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("from 1 to S = 10 bytes"), std::string::npos);
}

TEST(AMachine, MayHaveFractionsOfNanosecondsForABytes) {
  EXPECT_EQ(costs_of({0, 0, 0, 0.08, 0, 65535}, 1001).receiving, 80);
}

}  // namespace
}  // namespace leat::predict

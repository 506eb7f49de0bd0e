// SPDX-License-Identifier: Apache-2.0
// The protocol step by step: what a client does that comes between two steps of the server.
#include "lib/shm/steering.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace leat::shm {
namespace {

class SteeringProtocol : public testing::Test {
 protected:
  void TearDown() override { Segment::remove(name_); }

  Segment make() {
    SegmentPlan plan;
    plan.clients = 2;
    plan.data_bytes = 1 << 20;
    plan.catalogue_bytes = 4096;
    plan.parameters = 2;
    Result<Segment> made = Segment::create(name_, plan);
    EXPECT_TRUE(made) << name_ << ": " << made.error().message;
    return std::move(*made);
  }

  // What the client takes in this iteration: "slot=value", or "".
  static std::string taken(SteeringReader& client, std::int64_t iteration) {
    std::string text;
    client.enter(iteration, [&text](std::uint32_t slot, const SteeredValue& value) {
      text += std::to_string(slot) + "=" + std::to_string(value.integer());
    });
    return text;
  }

  SteeringState state(std::uint32_t slot) const {
    return static_cast<SteeringState>(segment_.steering().slots[slot].decision.load() % 4);
  }

  const std::string name_ = "leat-test-steering-" + std::to_string(getpid());
  Segment segment_ = make();
  SteeringWriter server_{segment_};
  SteeringReader first_{segment_, 0}, second_{segment_, 1};
};

TEST_F(SteeringProtocol, ACommittedValueIsTakenOnceByEachClientInItsIteration) {
  server_.propose(1, 3, SteeredValue::of(std::int64_t{42}));
  ASSERT_TRUE(server_.commit(1));
  EXPECT_EQ(taken(first_, 2), "");
  EXPECT_EQ(taken(first_, 3), "1=42");
  EXPECT_EQ(taken(first_, 4), "");
  EXPECT_EQ(taken(second_, 2), "");
  EXPECT_EQ(taken(second_, 3), "1=42");
}

TEST_F(SteeringProtocol, AClientThatSawTheProposalOnlyLooksAgainWhenItsIterationHasCome) {
  server_.propose(0, 3, SteeredValue::of(std::int64_t{42}));
  EXPECT_EQ(taken(first_, 1), "");
  ASSERT_TRUE(server_.commit(0));
  EXPECT_EQ(taken(first_, 2), "");
  EXPECT_EQ(taken(first_, 3), "0=42");
}

TEST_F(SteeringProtocol, AClientThatComesBeforeTheDecisionWithdrawsTheProposalForAll) {
  server_.propose(0, 3, SteeredValue::of(std::int64_t{42}));
  EXPECT_EQ(taken(first_, 3), "");
  EXPECT_EQ(state(0), SteeringState::withdrawn);
  EXPECT_FALSE(server_.commit(0));
  EXPECT_EQ(taken(second_, 3), "");
  EXPECT_EQ(taken(second_, 4), "");
}

TEST_F(SteeringProtocol, AWithdrawnValueIsEffectiveFromTheIterationOfItsNextProposal) {
  server_.propose(0, 3, SteeredValue::of(std::int64_t{42}));
  EXPECT_EQ(taken(first_, 3), "");
  server_.propose(0, 5, SteeredValue::of(std::int64_t{42}));
  ASSERT_TRUE(server_.commit(0));
  EXPECT_EQ(taken(first_, 4), "");
  EXPECT_EQ(taken(first_, 5), "0=42");
  EXPECT_EQ(taken(second_, 3), "");
  EXPECT_EQ(taken(second_, 5), "0=42");
}

TEST_F(SteeringProtocol, WhatTheServerWithdrawsNobodyTakes) {
  server_.propose(0, 3, SteeredValue::of(std::int64_t{42}));
  server_.withdraw(0);
  EXPECT_EQ(taken(first_, 3), "");
  EXPECT_FALSE(server_.commit(0));
}

TEST_F(SteeringProtocol, AServerKilledBetweenItsStepsLeavesAProposalThatNobodyTakes) {
  server_.propose(0, 3, SteeredValue::of(std::int64_t{42}));
  for (std::int64_t k = 0; k < 6; ++k) EXPECT_EQ(taken(first_, k) + taken(second_, k), "");
}

TEST_F(SteeringProtocol, AClientSaysWhereItIs) {
  EXPECT_EQ(taken(second_, 17), "");
  EXPECT_EQ(segment_.client(1).client->iteration.load(), 17);
}

TEST(SteeredValue, HoldsNumbersAndTextsUpToTheLongest) {
  EXPECT_EQ(SteeredValue::of(std::int64_t{-5}).integer(), -5);
  EXPECT_EQ(SteeredValue::of(-0.25).real(), -0.25);
  EXPECT_EQ(SteeredValue::of(std::string_view("")).text(), "");
  const std::string longest(kMostSteeredText, 'x');
  EXPECT_EQ(SteeredValue::of(std::string_view(longest)).text(), longest);
}

}  // namespace
}  // namespace leat::shm

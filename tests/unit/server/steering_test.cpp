// SPDX-License-Identifier: Apache-2.0
// What may be steered, when it is published, and what the ledger hears of it.
#include "server/state/parameters/steering.hpp"

#include <gtest/gtest.h>

#include "tests/unit/server/steered_run.hpp"

namespace leat::server {
namespace {

class SteeringTest : public testing::Test {
 protected:
  void TearDown() override { shm::Segment::remove(run_.segment.name()); }

  // Both clients go to an iteration; what the first sees there.
  std::string go_to(std::int64_t iteration) {
    std::string seen;
    second_.enter(iteration, [](std::uint32_t, const shm::SteeredValue&) {});
    first_.enter(iteration, [&](std::uint32_t slot, const shm::SteeredValue& value) {
      seen += run_.model.parameters[slot].name + "=";
      if (slot == kCount) seen += std::to_string(value.integer());
      if (slot == kStep) seen += std::to_string(value.real());
      if (slot == kTitle) seen += value.text();
    });
    return seen;
  }

  SteeredRun run_{2};
  Steering steering_{run_.model, run_.segment};
  shm::SteeringReader first_{run_.segment, 0}, second_{run_.segment, 1};
};

TEST_F(SteeringTest, AValueIsSeenFromTheIterationAfterTheNextOn) {
  EXPECT_EQ(go_to(5), "");
  EXPECT_EQ(steering_.set("count", std::int64_t{7}, "a.py"), "");
  EXPECT_EQ(go_to(6), "");
  EXPECT_EQ(go_to(7), "count=7");
  EXPECT_EQ(go_to(8), "");
}

TEST_F(SteeringTest, RealParametersTakeIntegersAndTextsTakeTheLongest) {
  const std::string longest(255, 'x');
  EXPECT_EQ(steering_.set("step", std::int64_t{2}, "a.py"), "");
  EXPECT_EQ(steering_.set("title", longest, "a.py"), "");
  EXPECT_EQ(go_to(2), "step=2.000000title=" + longest);
}

TEST_F(SteeringTest, WhatShapesALayoutIsTheSimulationsToSet) {
  EXPECT_EQ(steering_.set("nx", std::int64_t{2}, "a.py"),
            "parameter \"nx\" is used by layout \"cells\": only the simulation sets it");
  EXPECT_EQ(steering_.set("ny", std::int64_t{2}, "a.py"),
            "parameter \"ny\" is used by layout \"cells\": only the simulation sets it");
}

TEST_F(SteeringTest, AnUnknownNameIsRefusedWithTheNearestOne) {
  EXPECT_EQ(steering_.set("stpe", 0.5, "a.py"),
            "the XML declares no parameter \"stpe\"; did you mean \"step\"?");
}

TEST_F(SteeringTest, AWrongTypeIsRefusedWithWhatIsDeclared) {
  EXPECT_EQ(steering_.set("count", 2.5, "a.py"),
            "parameter \"count\" (run.xml:4) is declared int: 2.5 is no integer");
  EXPECT_EQ(steering_.set("count", "many", "a.py"),
            "parameter \"count\" (run.xml:4) is declared int: \"many\" is no integer");
  EXPECT_EQ(steering_.set("step", "0.5", "a.py"),
            "parameter \"step\" (run.xml:5) is declared double: \"0.5\" is a text, write a number");
  EXPECT_EQ(steering_.set("title", std::int64_t{5}, "a.py"),
            "parameter \"title\" (run.xml:6) is declared string: 5 is a number, write \"5\"");
}

TEST_F(SteeringTest, ATextThatDoesNotFitIsRefusedWithBothNumbers) {
  EXPECT_EQ(steering_.set("title", std::string(256, 'x'), "a.py"),
            "parameter \"title\" (run.xml:6): a text of 256 bytes is too long, a set text has at "
            "most 255");
  EXPECT_NE(steering_.set("title", std::string("a\0b", 3), "a.py").find("zero byte"),
            std::string::npos);
}

TEST_F(SteeringTest, ASecondValueWaitsUntilAllRanksHaveSeenTheFirst) {
  EXPECT_EQ(steering_.set("count", std::int64_t{1}, "a.py"), "");
  EXPECT_EQ(steering_.set("count", std::int64_t{2}, "a.py"), "");
  EXPECT_EQ(go_to(2), "count=1");
  steering_.advance();
  EXPECT_EQ(go_to(3), "");
  steering_.advance();
  EXPECT_EQ(go_to(4), "");
  EXPECT_EQ(go_to(5), "count=2");
}

TEST_F(SteeringTest, OfSeveralValuesThatWaitTheNewestTakesEffect) {
  for (std::int64_t n = 1; n <= 4; ++n) EXPECT_EQ(steering_.set("count", n, "a.py"), "");
  EXPECT_EQ(go_to(2), "count=1");
  EXPECT_EQ(go_to(3), "");
  steering_.advance();
  EXPECT_EQ(go_to(5), "count=4");
}

TEST_F(SteeringTest, TheLedgerHearsOfEveryValueAndOfThoseThatNeverTookEffect) {
  EXPECT_EQ(steering_.set("step", 0.25, "a.py"), "");
  EXPECT_EQ(steering_.set("step", 0.5, "b.py"), "");
  EXPECT_EQ(steering_.set("step", 0.75, "c.py"), "");
  go_to(3);
  steering_.advance();
  std::string text;
  for (const AuditEntry& e : steering_.take_audit()) {
    text += e.parameter + " " + e.old_value + "->" + e.new_value + " at " +
            std::to_string(e.iteration) + " by " + e.who + "\n";
  }
  EXPECT_EQ(text,
            "step 0.1->0.25 at 2 by a.py\n"
            "step 0.25->0.5 at -1 by b.py\n"
            "step 0.25->0.75 at 5 by c.py\n");
  EXPECT_TRUE(steering_.take_audit().empty());
}

TEST_F(SteeringTest, ARankThatHasYetToComeIsWaitedFor) {
  first_.enter(10, [](std::uint32_t, const shm::SteeredValue&) {});
  EXPECT_EQ(steering_.set("count", std::int64_t{1}, "a.py"), "");
  EXPECT_EQ(steering_.set("count", std::int64_t{2}, "a.py"), "");
  first_.enter(20, [](std::uint32_t, const shm::SteeredValue&) {});
  steering_.advance();
  shm::SteeringReader late(run_.segment, 1);
  std::vector<std::int64_t> seen;
  for (std::int64_t k = 0; k < 20; ++k) {
    late.enter(k, [&](std::uint32_t, const shm::SteeredValue& v) { seen = {k, v.integer()}; });
  }
  EXPECT_EQ(seen, (std::vector<std::int64_t>{12, 1}));
}

TEST_F(SteeringTest, ARankThatIsGoneHoldsUpNothing) {
  EXPECT_EQ(steering_.set("count", std::int64_t{1}, "a.py"), "");
  EXPECT_EQ(steering_.set("count", std::int64_t{2}, "a.py"), "");
  first_.enter(3, [](std::uint32_t, const shm::SteeredValue&) {});
  steering_.client_gone(1, 0);
  steering_.advance();
  std::int64_t seen = 0;
  first_.enter(5, [&](std::uint32_t, const shm::SteeredValue& v) { seen = v.integer(); });
  EXPECT_EQ(seen, 2);
}

TEST_F(SteeringTest, WhenAllRanksAreGoneWhatWaitsNeverTakesEffectAndMoreIsRefused) {
  EXPECT_EQ(steering_.set("count", std::int64_t{1}, "a.py"), "");
  EXPECT_EQ(steering_.set("count", std::int64_t{2}, "b.py"), "");
  steering_.client_gone(0, 0);
  steering_.client_gone(1, 0);
  steering_.advance();
  const std::vector<AuditEntry> audit = steering_.take_audit();
  ASSERT_EQ(audit.size(), 2u);
  EXPECT_EQ(audit[1].who, "b.py");
  EXPECT_EQ(audit[1].iteration, AuditEntry::kNever);
  EXPECT_NE(steering_.set("count", std::int64_t{3}, "c.py").find("have ended"), std::string::npos);
}

TEST_F(SteeringTest, AnIterationThatMakesNoSenseIsNotBelieved) {
  for (const std::int64_t wild : {INT64_MAX, INT64_MIN}) {
    run_.segment.client(1).client->iteration = wild;
    EXPECT_EQ(steering_.set("count", std::int64_t{1}, "a.py"), "");
  }
  std::int64_t seen = 0;
  first_.enter(2, [&](std::uint32_t, const shm::SteeredValue& v) { seen = v.integer(); });
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace leat::server

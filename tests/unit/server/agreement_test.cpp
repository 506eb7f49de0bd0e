// SPDX-License-Identifier: Apache-2.0
// Many servers of one run in one process, each at a speed of its own; some are silenced or end
// early. Each that knows what happens in an iteration knows the same.
#include "server/state/signals/agreement.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/state/signals/group.hpp"
#include "tests/support/simulated_group.hpp"

namespace leat::server {
namespace {

using tests::Meeting;
using tests::SimulatedGroup;
using Decisions = std::map<std::int64_t, std::int64_t>;  // how often, where not never

// A server of one rank, which signals when it is told to.
class Server {
 public:
  Server(std::unique_ptr<Group> group, std::int32_t servers)
      : group_(std::move(group)), agreement_(group_->self(), servers, 1) {
    report_.ranks = 1;
    report_.name = group_->self();
    publish();
  }

  void end_iteration(std::int64_t signals, std::int64_t requests = 0) {
    Tally tally = report_.steps.empty() ? Tally{} : report_.steps.back().tallies[0];
    tally.least += signals;
    tally.most += signals;
    tally.requested += requests;
    ++report_.until;
    if (signals + requests > 0) report_.steps.push_back({report_.until, {tally}});
    publish();
  }
  void end() {
    report_.ended = true;
    publish();
  }
  void die_ranks() {
    report_.steps.push_back(
        {report_.until + 1,
         {{-1, report_.steps.empty() ? 0 : report_.steps.back().tallies[0].most, 0}}});
    end();
  }
  void give_up() {
    report_.gave_up = true;
    publish();
  }
  void publish() {
    ++report_.beat;
    report_.knows = agreement_.others();
    report_.decided = agreement_.next() - 1;
    EXPECT_EQ(group_->publish(line_of(report_)), "");
  }
  // As one that takes over knows it.
  void take_over() {
    const auto happened = agreement_.happened();
    const std::int64_t next = agreement_.next();
    agreement_ = Agreement(group_->self(), servers(), 1);
    agreement_.resume(next, happened);
  }
  void look() {
    const bool was = agreement_.is_complete();
    const auto others = agreement_.others();
    (void)agreement_.update(group_->poll());
    if (!was && others != agreement_.others()) publish();
    while (agreement_.next() <= report_.until) {
      const std::int64_t iteration = agreement_.next();
      const auto times = agreement_.decide();
      if (!times) return;
      if ((*times)[0] > 0) decisions_[iteration] = (*times)[0];
    }
  }
  std::int32_t servers() const { return servers_; }
  void expect_servers(std::int32_t servers) { servers_ = servers; }

  Group& group() { return *group_; }
  Agreement& agreement() { return agreement_; }
  const Decisions& decisions() const { return decisions_; }
  const Report& report() const { return report_; }

 private:
  std::unique_ptr<Group> group_;
  std::int32_t servers_ = 0;
  Agreement agreement_;
  Report report_;
  Decisions decisions_;
};

class Servers {
 public:
  explicit Servers(std::int32_t count) {
    for (std::int32_t i = 0; i < count; ++i) {
      all_.push_back(std::make_unique<Server>(
          std::make_unique<SimulatedGroup>(meeting, "s" + std::to_string(i)), count));
      all_.back()->expect_servers(count);
    }
  }
  Server& operator[](std::size_t i) { return *all_[i]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  std::size_t size() const { return all_.size(); }
  void look() {
    for (int i = 0; i < 3; ++i)
      for (auto& each : all_) each->look();
  }

  Meeting meeting;

 private:
  std::vector<std::unique_ptr<Server>> all_;
};

TEST(Agreement, AnEventHappensWhereTheLastServerHasSignalledIt) {
  Servers servers(3);
  servers.look();
  for (std::int64_t i = 0; i < 5; ++i) {
    servers[0].end_iteration(i == 0);
    servers[1].end_iteration(i == 3 ? 2 : 0);
    servers[2].end_iteration(i == 1);
    servers.look();
  }
  for (auto& each : servers) EXPECT_EQ(each->decisions(), (Decisions{{3, 1}}));
  std::string why;
  EXPECT_EQ(servers[0].agreement().missing(0, &why), 1);
  EXPECT_EQ(why, "a rank of s1 has signalled it 2 times, one of s0 only 1 time");
}

TEST(Agreement, AnOrderHappensOnceOnAllServersInTheIterationOfTheOneThatGotIt) {
  Servers servers(2);
  servers.look();
  for (int i = 0; i < 4; ++i) servers[0].end_iteration(0, i == 2);
  servers.look();
  EXPECT_TRUE(servers[0].decisions().empty()) << "the other one has said nothing yet";
  for (int i = 0; i < 4; ++i) servers[1].end_iteration(0);
  servers.look();
  for (auto& each : servers) EXPECT_EQ(each->decisions(), (Decisions{{2, 1}}));
}

TEST(Agreement, NothingIsKnownBeforeAllServersKnowEachOther) {
  Servers servers(2);
  servers[0].end_iteration(1);
  servers[0].look();
  EXPECT_FALSE(servers[0].agreement().is_complete());
  EXPECT_EQ(servers[0].agreement().ranks_found(), 1);
  servers.look();
  EXPECT_TRUE(servers[0].agreement().is_complete());
  EXPECT_EQ(servers[0].agreement().awaited().size(), 1u);
}

TEST(Agreement, WhatAnotherRunHasLeftIsNotTakenForThisRuns) {
  Servers servers(2);
  Meeting old;
  Server stale(std::make_unique<SimulatedGroup>(old, "stale"), 2);
  stale.end_iteration(1);
  servers.meeting["stale"] = old["stale"];
  servers.look();
  for (auto& each : servers) each->end_iteration(1);
  servers.look();
  for (auto& each : servers) {
    EXPECT_TRUE(each->agreement().is_complete());
    EXPECT_EQ(each->decisions(), (Decisions{{0, 1}}));
  }
}

TEST(Agreement, OfAServerThatIsSilencedCountsWhatItHadSaid) {
  Servers servers(3);
  servers.look();
  for (std::size_t i : {0, 1, 2}) servers[i].end_iteration(1);
  servers[0].end_iteration(1);
  servers[1].end_iteration(1);
  servers.look();
  EXPECT_EQ(servers[0].agreement().awaited().size(), 1u);
  EXPECT_EQ(servers[1].group().silence("s2"), "");
  servers[2].end_iteration(0);  // too late: without it the event has happened
  servers.look();
  for (auto& each : servers) EXPECT_EQ(each->decisions(), (Decisions{{0, 1}, {1, 1}}));
  EXPECT_EQ(servers[0].agreement().take_silenced().size(), 1u);
  EXPECT_TRUE(servers[0].agreement().take_silenced().empty()) << "once";
}

TEST(Agreement, ServersWhoseRanksHaveDiedOrThatGiveUpAreNotWaitedFor) {
  Servers servers(4);
  servers.look();
  servers[0].end_iteration(1);
  servers[1].end_iteration(1);
  servers[2].die_ranks();
  servers[3].give_up();
  servers.look();
  for (const std::size_t i : {0, 1}) EXPECT_EQ(servers[i].decisions(), (Decisions{{0, 1}})) << i;
}

TEST(Agreement, AServerWhoseRanksHaveEndedStillLimits) {
  Servers servers(2);
  servers.look();
  servers[0].end_iteration(1);
  servers[0].end();
  for (int i = 0; i < 3; ++i) servers[1].end_iteration(1);
  servers.look();
  EXPECT_EQ(servers[0].decisions(), (Decisions{{0, 1}}));
  EXPECT_EQ(servers[1].decisions(), (Decisions{{0, 1}}));
  EXPECT_EQ(servers[1].agreement().next(), 3);
}

// Whatever comes first: those who know what happens know the same, as far as each has come.
TEST(Agreement, IsTheSameInAnyOrderWithDeathsAndSilence) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 dice(seed);
    const auto roll = [&](unsigned sides) { return dice() % sides; };
    Servers servers(static_cast<std::int32_t>(2 + roll(6)));
    servers.look();
    for (int turn = 0; turn < 400; ++turn) {
      Server& one = servers[roll(static_cast<unsigned>(servers.size()))];
      switch (roll(12)) {
        case 0:
          if (roll(40) == 0)
            one.group().silence("s" + std::to_string(roll(static_cast<unsigned>(servers.size()))));
          break;
        case 1:
          one.take_over();
          break;
        case 2:
        case 3:
        case 4:
        case 5:
          if (one.report().until < 40) one.end_iteration(roll(3) == 0, roll(9) == 0);
          break;
        default:
          one.look();
      }
    }
    for (auto& each : servers)
      while (each->report().until < 40) each->end_iteration(0);
    servers.look();
    for (auto& each : servers) {
      EXPECT_EQ(each->agreement().next(), 41) << "seed " << seed;
      EXPECT_EQ(each->decisions(), servers[0].decisions()) << "seed " << seed;
    }
  }
}

TEST(Report, OfWhatMakesNoSenseNothingIsTaken) {
  Report report;
  report.ranks = 2;
  report.steps = {{3, {{1, 2, 0}}}};
  const std::string line = line_of(report);
  ASSERT_TRUE(report_in(line, 1));
  EXPECT_FALSE(report_in(line, 2)) << "of another XML";
  for (std::size_t i = 0; i < line.size(); ++i) (void)report_in(line.substr(0, i), 1);
  for (const char* each : {"", "{}", "[]", "null", "{\"leat_group\":3}", "\xff"})
    EXPECT_FALSE(report_in(each, 1)) << each;
}

class FolderGroupTest : public testing::Test {
 protected:
  FolderGroupTest() { std::filesystem::create_directories(folder_); }
  ~FolderGroupTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path path() const { return folder_ / "sim.group" / "run"; }

  std::filesystem::path folder_ = testing::TempDir() + "leat-group-" + std::to_string(getpid());
};

TEST_F(FolderGroupTest, WhatIsSaidIsHeardAndWhatIsSilencedStays) {
  FolderGroup a(folder_, "sim", "run", "a"), b(folder_, "sim", "run", "b");
  EXPECT_EQ(a.publish("one"), "");
  EXPECT_EQ(b.publish("two"), "");
  EXPECT_EQ(a.poll(), (std::vector<ServerLine>{{"a", "one", ""}, {"b", "two", ""}}));
  EXPECT_EQ(a.silence("b"), "");
  EXPECT_EQ(b.publish("three"), "");
  EXPECT_EQ(a.silence("b"), "");
  EXPECT_EQ(b.poll(), (std::vector<ServerLine>{{"a", "one", ""}, {"b", "three", "two"}}));
  b.clear();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "sim.group"));
}

// A server that was stopped in the midst of saying goes on between two that silence it.
TEST_F(FolderGroupTest, TheFirstFinalLineIsThatOfAll) {
  FolderGroup a(folder_, "sim", "run", "a"), b(folder_, "sim", "run", "b"),
      c(folder_, "sim", "run", "c");
  EXPECT_EQ(a.publish("one"), "");
  EXPECT_EQ(b.publish("two"), "");
  EXPECT_EQ(a.silence("b"), "");
  EXPECT_EQ(b.publish("three"), "");
  EXPECT_EQ(c.silence("b"), "");
  for (FolderGroup* each : {&a, &b, &c}) EXPECT_EQ(each->poll()[1].final, "two");
}

// Who silences it has died in between: whoever sees that ends it, before taking any line.
TEST_F(FolderGroupTest, ASilenceThatWasBegunIsEndedByWhoeverSeesIt) {
  FolderGroup a(folder_, "sim", "run", "a"), b(folder_, "sim", "run", "b");
  EXPECT_EQ(b.publish("two"), "");
  EXPECT_EQ(a.poll(), (std::vector<ServerLine>{{"b", "two", ""}}));
  std::ofstream(path() / "b.closing").flush();
  EXPECT_EQ(a.poll(), (std::vector<ServerLine>{{"b", "two", "two"}}));
  EXPECT_EQ(b.publish("three"), "");
  EXPECT_EQ(b.poll(), (std::vector<ServerLine>{{"b", "three", "two"}}));
}

TEST_F(FolderGroupTest, GoesOnWhereItsFolderWasRemoved) {
  FolderGroup a(folder_, "sim", "run", "a");
  EXPECT_EQ(a.publish("one"), "");
  std::filesystem::remove_all(folder_ / "sim.group");
  EXPECT_EQ(a.publish("two"), "");
  EXPECT_EQ(a.poll(), (std::vector<ServerLine>{{"a", "two", ""}}));
}

TEST_F(FolderGroupTest, TakesNothingOfHalfALineAndOpensNoLink) {
  FolderGroup a(folder_, "sim", "run", "a");
  std::ofstream(path() / "half.line") << "no end";
  std::filesystem::create_symlink("/etc/passwd", path() / "link.line");
  EXPECT_EQ(a.publish("one"), "");
  EXPECT_EQ(a.poll(), (std::vector<ServerLine>{{"a", "one", ""}, {"half", "", ""}}));
}

TEST_F(FolderGroupTest, RemovesWhatRunsBeforeHaveLeftForMoreThanADay) {
  {
    FolderGroup old(folder_, "sim", "old", "a");
    old.publish("one");
  }
  {
    FolderGroup young(folder_, "sim", "young", "a");
    young.publish("one");
  }
  const auto before = std::filesystem::file_time_type::clock::now() - std::chrono::hours(48);
  for (const char* each : {"old/a.line", "old"})
    std::filesystem::last_write_time(folder_ / "sim.group" / each, before);
  FolderGroup a(folder_, "sim", "run", "a");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "sim.group" / "old"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "sim.group" / "young" / "a.line"));
}

}  // namespace
}  // namespace leat::server

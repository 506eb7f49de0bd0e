// SPDX-License-Identifier: Apache-2.0
// Reductions over several servers in one process: whoever contributes gets an outcome, whatever the others do.
#include "server/state/group/reductions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "server/driver/executors.hpp"
#include "tests/support/memory_group.hpp"
#include "tests/support/quiet_host.hpp"
#include "tests/unit/server/steered_run.hpp"

namespace leat::server {
namespace {

using comm::Columns;
using comm::Integers;
using comm::Op;
using comm::tests::MemoryGroup;
using comm::tests::MemoryServers;

Columns sum_of(std::int64_t value) { return {Integers{Op::sum, {value}}}; }

struct ReducingServer {
  ReducingServer(MemoryServers& servers, comm::Rank rank)
      : segment(steered_segment(1)),
        run{model, segment, {}, std::make_shared<tests::QuietLog>(), executor, ""},
        rounds(run, journal),
        reductions(rounds, [this] { ++wakes; }) {
    rounds.begin(std::make_unique<MemoryGroup>(servers, rank));
    reductions.look_who_is_there();
  }

  void step() {
    reductions.advance(rounds.take_awaited(), [this](std::uint64_t channel, std::int64_t first,
                                                     std::int64_t last) {
      const auto is_among = [&](const comm::Round& each) {
        return each.channel == channel && iteration_of(each) >= first && iteration_of(each) <= last;
      };
      return std::any_of(may_come.begin(), may_come.end(), is_among);
    });
    rounds.advance();
  }
  // The sum, and of how many servers.
  void ask(const comm::Round& round, std::int64_t value) {
    reductions.contribute(round, sum_of(value),
                          [this](const comm::Outcome& outcome) { got.push_back(outcome); });
  }
  std::int64_t sum(std::size_t which) const {
    return std::get<Integers>(got.at(which).columns.at(0)).values[0];
  }

  model::Model model = steered_model();
  shm::Segment segment;
  ThreadExecutor executor;
  SessionJournal journal;
  Run run;
  RunRounds rounds;
  Reductions reductions;
  std::set<comm::Round> may_come;
  std::vector<comm::Outcome> got;
  int wakes = 0;
};

class ReductionsTest : public ::testing::Test {
 protected:
  void step_all() {
    for (int i = 0; i < 3; ++i)
      for (ReducingServer* each : {&a, &b, &c}) each->step();
  }
  MemoryServers servers{3};
  ReducingServer a{servers, 0}, b{servers, 1}, c{servers, 2};
  const comm::Round round{channel_of_store(2, 0), number_of(7, 0)};
};

TEST_F(ReductionsTest, a_server_at_its_end_is_not_waited_for_again_in_a_channel) {
  for (std::int64_t i = 0; i < 3; ++i) {
    const comm::Round each{round.channel, number_of(7 + i, 0)};
    a.ask(each, 1);
    b.ask(each, 20);
    c.may_come.insert(each);
  }
  step_all();
  EXPECT_TRUE(a.got.empty());  // c may contribute yet
  c.reductions.end(c.rounds.take_awaited());
  for (ReducingServer* server : {&a, &b}) server->rounds.advance();
  ASSERT_EQ(a.got.size(), 3U);
  EXPECT_EQ(a.sum(2), 21);
}

TEST_F(ReductionsTest, all_servers_get_what_all_have_contributed) {
  a.ask(round, 1);
  b.ask(round, 20);
  b.may_come = c.may_come = {round};
  step_all();
  EXPECT_TRUE(a.got.empty()) << "before the last has contributed";
  c.ask(round, 300);
  EXPECT_TRUE(c.reductions.has_news());
  EXPECT_EQ(1, c.wakes);
  step_all();
  for (const ReducingServer* each : {&a, &b, &c}) EXPECT_EQ(321, each->sum(0));
}

TEST_F(ReductionsTest, a_server_that_is_past_the_iteration_contributes_nothing) {
  a.ask(round, 1);
  b.ask(round, 20);
  step_all();
  ASSERT_EQ(1U, a.got.size());
  EXPECT_EQ(21, a.sum(0));
  EXPECT_EQ(21, b.sum(0));
  EXPECT_TRUE(c.got.empty());
}

TEST_F(ReductionsTest, what_came_just_before_the_server_was_past_it_counts) {
  a.ask(round, 1);
  b.ask(round, 20);
  a.step();
  b.step();
  c.ask(round, 300);  // and c says in the same step that nobody may come any more
  step_all();
  EXPECT_EQ(321, a.sum(0));
}

TEST_F(ReductionsTest, who_comes_too_late_gets_the_outcome_of_the_others) {
  a.ask(round, 1);
  b.ask(round, 20);
  step_all();
  c.ask(round, 300);
  step_all();
  EXPECT_EQ(21, c.sum(0));
}

TEST_F(ReductionsTest, rounds_of_a_server_that_died_are_of_the_others) {
  a.ask(round, 1);
  b.ask(round, 20);
  c.may_come = {round};
  step_all();
  EXPECT_TRUE(a.got.empty());
  servers.die(2);
  step_all();
  EXPECT_EQ(21, a.sum(0));
  EXPECT_EQ((std::vector<comm::Rank>{0, 1}), a.got[0].of.ranks());
}

TEST_F(ReductionsTest, the_first_server_is_the_lowest_that_lives) {
  EXPECT_EQ(0, c.reductions.place()->first);
  EXPECT_EQ(2, c.reductions.place()->self);
  EXPECT_EQ(3, c.reductions.place()->servers);
  servers.die(0);
  c.step();  // who is there is looked at between steps
  c.reductions.look_who_is_there();
  EXPECT_EQ(1, c.reductions.place()->first);
}

TEST_F(ReductionsTest, a_later_number_of_a_channel_says_nothing_to_those_before) {
  const comm::Round next{round.channel, number_of(8, 0)};
  a.ask(round, 1);
  b.ask(round, 20);
  a.ask(next, 2);
  b.ask(next, 40);
  c.ask(next, 600);
  c.may_come = {round, next};
  step_all();
  ASSERT_EQ(2U, a.got.size());
  EXPECT_EQ(21, a.sum(0));
  EXPECT_EQ(642, a.sum(1));
}

TEST_F(ReductionsTest, what_is_left_out_is_said_before_others_wait_and_after_all_that_is_older) {
  const std::uint64_t channel = channel_of_script("heat", "process");
  const auto call = [&](std::int64_t iteration, std::uint16_t number = 0) {
    return comm::Round{channel, number_of(iteration, number)};
  };
  for (ReducingServer* each : {&a, &b, &c}) each->ask(call(7), 1);
  step_all();
  ASSERT_EQ(1U, a.got.size());
  c.may_come = {call(8)};
  c.reductions.leave_out_iteration(9);
  EXPECT_TRUE(c.reductions.has_news());
  servers.is_patient = true;  // nobody is told who waits
  for (ReducingServer* each : {&a, &b})
    for (const std::uint16_t number : {0, 1}) each->ask(call(9, number), 10);
  step_all();
  EXPECT_EQ(1U, a.got.size()) << "its part in 8 would be lost";
  c.may_come.clear();
  step_all();
  ASSERT_EQ(3U, a.got.size()) << "of all calls of 9";
  EXPECT_EQ(20, a.sum(1)) << "of a and b";
  EXPECT_EQ(20, a.sum(2));
  for (ReducingServer* each : {&a, &b, &c}) each->ask(call(10), 100);
  step_all();
  EXPECT_EQ(300, a.sum(3));
}

TEST_F(ReductionsTest, a_function_that_has_never_reduced_has_no_rounds_until_others_wait_for_it) {
  const std::uint64_t channel = channel_of_script("heat", "process");
  const comm::Round first{channel, number_of(4, 0)};
  c.reductions.leave_out(channel, 4);
  c.may_come = {first};  // another function of the script is at work
  step_all();
  EXPECT_TRUE(servers.awaited(0).empty());
  a.ask(first, 1);
  b.ask(first, 20);
  step_all();
  ASSERT_EQ(1U, a.got.size());
  EXPECT_EQ(21, a.sum(0));
}

TEST(ReductionChannels, are_apart_and_the_same_everywhere) {
  EXPECT_EQ(std::uint64_t{1} << 32, channel_of_store(0, 0));
  EXPECT_EQ((std::uint64_t{1} << 32) + 35, channel_of_store(2, 3));
  EXPECT_EQ(std::optional<std::uint32_t>(2), store_of(channel_of_store(2, 15)));
  const std::uint64_t script = channel_of_script("heat", "process");
  EXPECT_EQ(script, channel_of_script("heat", "process"));
  EXPECT_NE(script, channel_of_script("hea", "tprocess"));
  EXPECT_GE(script, (std::uint64_t{1} << 32) + (std::uint64_t{1} << 31));
  EXPECT_FALSE(store_of(script));
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Servers of a run in one process whose stores write in turn: as many at one time as may, one in a file, and nobody waits for ever.
#include "server/state/group/turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "lib/os/clock.hpp"
#include "tests/support/turning_server.hpp"

namespace leat::server {
namespace {

using comm::RankSet;
using comm::tests::MemoryServers;
using tests::turning_store;
using tests::TurningServer;

// ---- the queue ----

TurnWish in_file(std::int32_t file, std::int64_t number = 1) { return {0, number, file}; }

TEST(TurnQueueTest, wishes_come_through_as_text) {
  const std::vector<TurnWish> wishes{{0, 17, -1}, {3, INT64_MAX, 5}};
  EXPECT_EQ(wishes_in(text_of(wishes)), wishes);
  EXPECT_EQ(wishes_in(""), std::vector<TurnWish>());
  EXPECT_EQ(wishes_in("1 2\n"), std::nullopt);
}

TEST(TurnQueueTest, the_first_write_as_many_as_may) {
  TurnQueue queue({2});
  for (comm::Rank server = 0; server < 4; ++server) queue.says(server, {in_file(-1)});
  queue.look({}, 100);
  EXPECT_TRUE(queue.is_at_turn(0, in_file(-1)) && queue.is_at_turn(1, in_file(-1)));
  EXPECT_FALSE(queue.is_at_turn(2, in_file(-1)) || queue.is_at_turn(3, in_file(-1)));
  EXPECT_EQ(queue.before(3, in_file(-1)), 0);
  queue.says(1, {});
  queue.look({}, 180);
  EXPECT_TRUE(queue.is_at_turn(2, in_file(-1)));
  EXPECT_FALSE(queue.is_at_turn(3, in_file(-1)));
  EXPECT_EQ(queue.usual_ns(0), 80);
}

TEST(TurnQueueTest, one_writes_into_a_file_and_others_into_others) {
  TurnQueue queue({0});
  queue.says(0, {in_file(0)});
  queue.says(1, {in_file(0)});
  queue.says(2, {in_file(0)});
  queue.says(3, {in_file(1)});
  queue.look({}, 1);
  EXPECT_TRUE(queue.is_at_turn(0, in_file(0)) && queue.is_at_turn(3, in_file(1)));
  EXPECT_FALSE(queue.is_at_turn(1, in_file(0)));
  EXPECT_TRUE(queue.is_next(1, in_file(0)));
  EXPECT_FALSE(queue.is_next(2, in_file(0)) || queue.is_next(3, in_file(1)));
  EXPECT_EQ(queue.writer_of(0, 0)->server, 0);
  EXPECT_EQ(queue.idle_file(0, 3), 2);
  EXPECT_EQ(queue.idle_file(0, 2), std::nullopt);
}

TEST(TurnQueueTest, a_server_that_is_gone_counts_for_nothing) {
  TurnQueue queue({1});
  queue.says(0, {in_file(0)});
  queue.says(1, {in_file(0)});
  queue.look({}, 1);
  EXPECT_FALSE(queue.is_at_turn(1, in_file(0)));
  queue.look(RankSet(0), 50);
  EXPECT_TRUE(queue.is_at_turn(1, in_file(0)));
  EXPECT_EQ(queue.writer_of(0, 0)->server, 1);
}

TEST(TurnQueueTest, who_comes_again_comes_last) {
  TurnQueue queue({1});
  queue.says(0, {in_file(-1, 1)});
  queue.says(1, {in_file(-1, 1)});
  queue.says(0, {in_file(-1, 2)});
  queue.look({}, 1);
  EXPECT_TRUE(queue.is_at_turn(1, in_file(-1, 1)));
  EXPECT_FALSE(queue.is_at_turn(0, in_file(-1, 2)));
}

// ---- servers ----

using Servers = std::vector<std::unique_ptr<TurningServer>>;

TEST(TurnsTest, no_more_servers_write_at_one_time_than_may_and_each_gets_all_its_turns) {
  constexpr int kServers = 6, kTurns = 20;
  MemoryServers all(kServers);
  Servers servers;
  for (int i = 0; i < kServers; ++i)
    servers.push_back(std::make_unique<TurningServer>(all, i, turning_store(2)));
  std::atomic<int> writing{0}, most{0}, turns{0};
  {
    std::vector<std::jthread> stores;
    for (const auto& each : servers) {
      stores.emplace_back([&] {
        for (int i = 0; i < kTurns; ++i) {
          const Turns::Turn turn = each->turns.take(0, 0);
          if (!turn.is_there()) continue;
          ++turns;
          const int now = ++writing;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          os::pause_shortly();
          --writing;
        }
      });
    }
  }
  EXPECT_EQ(turns, kServers * kTurns);
  EXPECT_LE(most, 2);
}

TEST(TurnsTest, servers_that_follow_each_other_share_a_file) {
  MemoryServers all(5);
  Servers servers;
  std::vector<int> files;
  for (int i = 0; i < 5; ++i)
    servers.push_back(std::make_unique<TurningServer>(all, i, turning_store(0, "2")));
  for (const auto& each : servers) files.push_back(each->turns.take(0, 2).file());
  EXPECT_EQ(files, (std::vector<int>{0, 0, 0, 1, 1}));
  for (const auto& each : servers) EXPECT_EQ(each->turns.take(0, 9).file(), each->rounds.self());
}

TEST(TurnsTest, the_turn_of_a_dead_server_comes_back) {
  MemoryServers all(2);
  TurningServer a(all, 0, turning_store(1)), b(all, 1, turning_store(1));
  const Turns::Turn held = a.turns.take(0, 0);
  ASSERT_TRUE(held.is_there());
  std::jthread killer([&all] {
    os::pause_shortly();
    all.die(0);
  });
  EXPECT_TRUE(b.turns.take(0, 0).is_there());
  EXPECT_FALSE(a.turns.take(0, 0).is_there());  // it is dead for the others, and waits for nobody
}

TEST(TurnsTest, who_waits_in_vain_for_half_of_the_timeout_does_without) {
  MemoryServers all(2);
  TurningServer a(all, 0, turning_store(1)), b(all, 1, turning_store(1), 200'000'000);
  const Turns::Turn held = a.turns.take(0, 0);
  EXPECT_FALSE(b.turns.take(0, 0).is_there());
}

TEST(TurnsTest, who_is_next_for_a_slow_file_gets_an_idle_one) {
  MemoryServers all(4);
  Servers servers;
  for (int i = 0; i < 4; ++i)
    servers.push_back(std::make_unique<TurningServer>(all, i, turning_store(0, "2")));
  const Turns::Turn slow = servers[0]->turns.take(0, 2);
  EXPECT_EQ(slow.file(), 0);
  EXPECT_EQ(servers[1]->turns.take(0, 2).file(), 1);
}

TEST(TurnsTest, nobody_waits_for_a_server_that_ends) {
  MemoryServers all(2);
  TurningServer a(all, 0, turning_store(1)), b(all, 1, turning_store(1));
  const Turns::Turn held = a.turns.take(0, 0);
  std::jthread stopper([&b] { b.turns.stop(); });
  EXPECT_FALSE(b.turns.take(0, 0).is_there());
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/member.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "tests/support/simulated_servers.hpp"

namespace leat::comm::test {
namespace {

// Which rank it is of, and something else of it.
Columns marked(Rank rank, const Round& round) {
  return {Integers{Op::sum, {std::int64_t{1} << rank % 60, round.number}},
          Gathered{{{rank, std::to_string(rank * 1000 + round.number % 1000)}}}};
}

// The same for many servers, each of which would keep what a thousand others have said.
Columns summed(Rank rank, const Round& round) {
  return {Integers{Op::sum,
                   {std::int64_t{1} << rank % 60, std::int64_t{rank} * rank * rank, round.number}}};
}

// Rounds of all servers, some of which skip some; rounds of some servers, in a channel of which others
// do not know; and the ends of both channels.
std::vector<Round> rounds_of(std::uint64_t seed, Rank rank) {
  constexpr std::uint64_t kOfSome = (std::uint64_t{1} << 32) + 3;
  std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(rank));
  const bool skips = seed % 2 == 1, is_of_some = random() % 3 == 0;
  std::vector<Round> rounds;
  for (std::int64_t i = 0; i < 50; ++i) {
    if (!skips || random() % 5 > 0) rounds.push_back({0, i});
    for (std::int64_t call = 0; skips && is_of_some && call < 2; ++call)
      if (random() % 6 == 0) rounds.push_back({kOfSome, i * 65536 + call});
  }
  rounds.push_back({0, INT64_MAX});
  if (skips && is_of_some) rounds.push_back({kOfSome, INT64_MAX});
  return rounds;
}

/// Some faults at random moments, and what was done, for people.
struct Faults {
  std::string story;
  RankSet killed;          ///< ever
  bool kills_only = true;  ///< and restarts
  bool are_brief = true;   ///< who was killed was soon there again
};

// With restarts, several may be killed at one moment.
void kill_some(SimulatedServers* servers, Rank size, bool restarts, Faults* faults) {
  const std::int64_t count = restarts ? servers->between(1, std::min<Rank>(size, 4)) : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const Rank victim = servers->between(0, 2) == 0
                            ? servers->root()
                            : static_cast<Rank>(servers->between(0, size - 1));
    faults->killed += victim;
    faults->story += "kill " + std::to_string(victim);
    servers->kill(victim);
    const bool is_brief = servers->between(0, 2) > 0;
    if (restarts && (is_brief || servers->between(0, 3) > 0)) {
      const std::int64_t ns = servers->between(0, is_brief ? 60 * kMilli : kSecond);
      faults->are_brief = faults->are_brief && is_brief;
      faults->story += " for " + std::to_string(ns / kMilli) + " ms";
      servers->restart_after(victim, ns);
    } else {
      faults->are_brief = false;
    }
    faults->story += "; ";
  }
}

Faults disturb(SimulatedServers* servers, Rank size, bool restarts) {
  Faults faults;
  servers->run(400 * kMilli);
  for (std::int64_t left = servers->between(0, 5); left > 0; --left) {
    servers->run(servers->now_ns() + servers->between(0, 800 * kMilli));
    const auto victim = static_cast<Rank>(servers->between(0, size - 1));
    const std::int64_t ns = servers->between(1, 1500 * kMilli);
    std::ostringstream what;
    what << servers->now_ns() / kMilli << " ms: ";
    switch (servers->between(restarts ? -3 : 0, 2)) {
      case 1:
        servers->stop(victim, ns);
        faults.kills_only = false;
        what << "stop " << victim << " for " << ns / kMilli << "; ";
        break;
      case 2: {
        RankSet some;
        for (std::int64_t i = servers->between(1, size); i > 0; --i)
          some += static_cast<Rank>(servers->between(0, size - 1));
        servers->part(some, ns);
        faults.kills_only = false;
        what << "part " << some.text() << " for " << ns / kMilli << "; ";
        break;
      }
      default: {
        Faults now;
        kill_some(servers, size, restarts, &now);
        faults.killed += now.killed;
        faults.are_brief = faults.are_brief && now.are_brief;
        what << now.story;
      }
    }
    faults.story += what.str();
  }
  return faults;
}

// By round and who it is of: most servers have the same.
using Expected = std::map<std::pair<Round, std::string>, Columns>;

// Of those that it says it is of, with what they contributed.
const Columns& expected(const SimulatedServers& servers, const Outcome& outcome, Expected* known) {
  const auto [place, is_new] = known->try_emplace({outcome.round, outcome.of.text()});
  Columns& all = place->second;
  if (!is_new) return all;
  for (const Rank rank : outcome.of.ranks()) {
    for (const auto& [round, columns] : servers.journal(rank).contributions) {
      if (round != outcome.round || columns.empty()) continue;
      if (all.empty()) {
        all = columns;
      } else {
        combine(&all, columns);
      }
    }
  }
  return all;
}

// All to which this server has contributed, each once, in the order of their numbers.
void expect_all_rounds(const SimulatedServers& servers, Rank rank, Expected* known) {
  std::map<std::uint64_t, std::int64_t> last;
  std::set<Round> seen;
  for (const Outcome& each : servers.outcomes(rank)) {
    const auto before = last.find(each.round.channel);
    EXPECT_TRUE(before == last.end() || before->second < each.round.number)
        << rank << " has " << each.round.channel << ", " << each.round.number
        << " late: " << servers.member(rank).why_alone();
    last[each.round.channel] = each.round.number;
    seen.insert(each.round);
    EXPECT_TRUE(each.columns == expected(servers, each, known)) << each.round.number;
  }
  EXPECT_EQ(servers.journal(rank).next, rounds_of(servers.seed(), rank).size());
  if (servers.member(rank).observes_since()) return;  // then others have their rounds without it
  for (const auto& [round, columns] : servers.journal(rank).contributions)
    EXPECT_TRUE(seen.contains(round)) << rank << " has no outcome of " << round.channel << ", "
                                      << round.number << ": " << servers.member(rank).why_alone();
  for (const std::string& why : servers.refused(rank)) ADD_FAILURE() << rank << ": " << why;
}

void expect_same(const std::vector<Outcome>& a, const std::vector<Outcome>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(a[i].sequence == b[i].sequence && a[i].round == b[i].round && a[i].of == b[i].of &&
                a[i].columns == b[i].columns)
        << a[i].round.number;
}

// One who is with the others at the end was in all of their rounds.
void expect_agreement(const SimulatedServers& servers, const RankSet& joined) {
  if (joined.empty()) return;
  const std::vector<Outcome>& outcomes = servers.outcomes(joined.first());
  for (const Outcome& each : outcomes)
    EXPECT_TRUE(each.of.has(joined))
        << each.round.number << " is without " << (joined - each.of).text();
  for (const Rank rank : joined.ranks()) expect_same(outcomes, servers.outcomes(rank));
}

std::size_t observed = 0;  // by all runs until now

void run_with_faults(std::uint64_t seed, bool restarts) {
  std::mt19937_64 random(seed);
  SimulatedServers::Plan plan;
  plan.seed = seed;
  plan.size = static_cast<Rank>(1 + random() % 40);
  plan.fan_out = static_cast<Rank>(1 + random() % 5);
  if (seed % 100 == 0) plan.size += 100;
  if (const char* const size = std::getenv("LEAT_SERVERS")) {
    plan.size = static_cast<Rank>(std::atoi(size));
    plan.fan_out = 32;
  }
  SimulatedServers servers(plan, {[seed](Rank rank) { return rounds_of(seed, rank); },
                                  plan.size < 500 ? marked : summed});
  const Faults faults = disturb(&servers, plan.size, restarts);
  servers.run(servers.now_ns() + 20 * kSecond);
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + std::to_string(plan.size) +
               " servers, tree of " + std::to_string(plan.fan_out) + "; " + faults.story);
  const bool most_lived = 2 * faults.killed.count() < static_cast<std::size_t>(plan.size);
  RankSet joined, observing;
  Expected known;
  for (Rank rank = 0; rank < plan.size; ++rank) {
    if (servers.is_dead(rank)) continue;
    expect_all_rounds(servers, rank, &known);
    if (faults.kills_only && most_lived && (!faults.killed.has(rank) || faults.are_brief)) {
      EXPECT_EQ(servers.member(rank).why_alone(), "") << rank;
    }
    if (servers.member(rank).is_alone()) continue;
    (servers.member(rank).is_observer() ? observing : joined) += rank;
  }
  expect_agreement(servers, joined);
  if (joined.empty()) return;
  for (const Rank rank : observing.ranks())
    expect_same(servers.outcomes(joined.first()), servers.outcomes(rank));
  observed += observing.ranks().size();
}

// LEAT_SEEDS: the last one, or the first one and the last one: "31-2000". LEAT_SERVERS: so many servers in each, in the
// tree that leatd has.
void run_all_seeds(bool restarts) {
  const char* const given = std::getenv("LEAT_SEEDS");
  std::istringstream text(given ? given : "30");
  std::uint64_t first = 1, last = 0;
  text >> last;
  if (text.get() == '-') {
    first = last;
    text >> last;
  }
  for (std::uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed)
    run_with_faults(seed, restarts);
}

TEST(Member, AgreesWithAllThatLiveWhateverHappens) {
  run_all_seeds(false);
  if (!std::getenv("LEAT_SEEDS")) {  // of one seed alone it may be none
    EXPECT_GT(observed, 0U);
  }
}

// A job that is suspended, longer than anybody waits for a server.
TEST(Member, GoesOnWithAllOthersAfterAllWereStopped) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedServers::Plan plan;
    plan.seed = seed;
    plan.size = static_cast<Rank>(2 + seed);
    SimulatedServers servers(plan, {[seed](Rank rank) { return rounds_of(seed, rank); }, marked});
    servers.run(500 * kMilli);
    for (Rank rank = 0; rank < plan.size; ++rank)
      servers.stop(rank, 10 * kSecond + servers.between(0, 20 * kMilli));
    servers.run(servers.now_ns() + 30 * kSecond);
    for (Rank rank = 0; rank < plan.size; ++rank) {
      EXPECT_EQ(servers.member(rank).why_alone(), "") << rank << " of seed " << seed;
      EXPECT_EQ(servers.outcomes(rank).size(), servers.outcomes(0).size());
    }
  }
}

TEST(Member, OfAServerThatWasKilledGoesOnByItsJournal) { run_all_seeds(true); }

TEST(Member, NeedsTwoMessagesForARoundAndServerHoweverManyThereAre) {
  for (const Rank size : {2, 33, 256}) {
    SimulatedServers::Plan plan;
    plan.size = size;
    plan.fan_out = 32;
    SimulatedServers servers(plan, {Program::all(20), [](Rank rank, const Round& round) {
                                      return Columns{Integers{Op::min, {rank, round.number}}};
                                    }});
    servers.run(10 * kSecond);
    const auto of_rounds = static_cast<std::uint64_t>(20 * size);
    // Those that come late, in the beginning, are sent on beside the others.
    EXPECT_LE(servers.messages_of_rounds(), 2 * of_rounds + static_cast<std::uint64_t>(size));
    EXPECT_LE(servers.bytes_of_rounds(), 1024 * of_rounds) << size;
    EXPECT_EQ(servers.outcomes(size - 1).size(), 20U) << size;
  }
}

// However long servers may be silent: those that wait for it wait no longer for that.
TEST(Member, IsToldWithinASecondOfARoundToWhichItWillContributeNothing) {
  SimulatedServers::Plan plan;
  plan.silence_ns = 15 * kSecond;
  plan.give_up_ns = 30 * kSecond;
  plan.fan_out = 1;  // one below the other
  const auto of_the_last = [](Rank rank) {
    return rank == 3 ? std::vector<Round>{{7, 0}} : std::vector<Round>();
  };
  SimulatedServers servers(plan, {of_the_last, marked});
  servers.run(30 * kSecond);
  ASSERT_EQ(servers.outcomes(3).size(), 1U);
  EXPECT_LT(servers.last_outcome_ns(), 2 * kSecond);  // the last of them starts within 0.3 s
}

// One that a run cannot lose in a moment: rounds go on as if it were still there.
TEST(Member, ThatLeadsHandsOverWhenItLeaves) {
  for (const Rank size : {2, 3, 8, 33}) {
    SimulatedServers::Plan plan;
    plan.size = size;
    plan.most_between_ns = 4 * kMilli;
    const auto rounds = [](Rank rank) {
      std::vector<Round> all;
      for (std::int64_t i = 0; i < (rank == 0 ? 100 : 600); ++i) all.push_back({0, i});
      all.push_back({0, INT64_MAX});
      return all;
    };
    SimulatedServers servers(plan, {rounds, marked});
    while (servers.outcomes(0).size() < 100) servers.run(servers.now_ns() + kMilli);
    servers.leave(0);
    while (!servers.member(0).has_left()) servers.run(servers.now_ns() + kMilli);
    servers.kill(0);
    const std::int64_t gone_ns = servers.now_ns();
    const std::size_t before = servers.outcomes(1).size();
    servers.run(gone_ns + 50 * kMilli);  // a quarter of what is silence
    EXPECT_GT(servers.outcomes(1).size(), before) << size;
    EXPECT_TRUE(servers.member(1).is_root()) << size;
    servers.run(gone_ns + 5 * kSecond);
    for (Rank rank = 1; rank < size; ++rank) {
      EXPECT_EQ(servers.member(rank).why_alone(), "");
      EXPECT_EQ(servers.outcomes(rank).size(), 601U) << rank << " of " << size;
      expect_same(servers.outcomes(1), servers.outcomes(rank));
    }
  }
}

TEST(Member, GoesAloneWhenMoreRoundsAreOpenThanMayBe) {
  MemberSettings settings{1, 3};
  settings.silence_ns = settings.give_up_ns = settings.start_ns = kSecond;
  settings.most_open = 2;
  Member member(settings, 0);
  for (std::int64_t number = 0; number < 3; ++number) {
    EXPECT_FALSE(member.is_alone());
    EXPECT_EQ(member.contribute({0, number}, marked(1, {0, number})), "");
  }
  EXPECT_NE(member.why_alone().find("more than 2 rounds"), std::string::npos);
  EXPECT_EQ(member.take_outcomes().size(), 3U);
}

// As of a job that was suspended while the root before took it for dead: what was refused then is not taken for nothing.
TEST(Member, HearsWhoIsAliveForANewRootWhenThatSaysAllOfIt) {
  MemberSettings settings{1, 3, 1};
  settings.silence_ns = settings.give_up_ns = settings.start_ns = 10 * kSecond;
  Member member(settings, 0);
  member.connected(0);
  const View first, without{.version = 1, .dead = RankSet(2)},
      next{.epoch = std::int64_t{1} << 40, .starts = {{std::int64_t{1} << 40, 0}}};
  const auto of_the_child = [](std::int64_t number) {
    return Partial{{0, number}, 2, RankSet(2), {}, INT64_MIN, marked(2, {0, number})};
  };
  for (const std::int64_t number : {5, 6})
    EXPECT_EQ(member.contribute({0, number}, marked(1, {0, number})), "");
  member.receive(2, Up{first, RankSet(2)});
  member.receive(0, Down{without});
  member.receive(2, of_the_child(5));
  member.receive(0, Down{next});
  member.receive(2, of_the_child(6));
  for (const auto& [to, message] : member.take_messages()) {
    const auto* const partial = std::get_if<Partial>(&message);
    if (!partial) continue;
    EXPECT_FALSE(partial->of.has(2) || partial->passed.has(2)) << partial->round.number;
  }
  member.receive(2, Up{next, RankSet(2)});
  for (const std::int64_t number : {5, 6}) member.receive(2, of_the_child(number));
  RankSet of[2];
  for (const auto& [to, message] : member.take_messages()) {
    const auto* const partial = std::get_if<Partial>(&message);
    if (!partial) continue;
    EXPECT_TRUE(partial->passed.empty()) << partial->round.number;
    of[partial->round.number - 5] += partial->of;
  }
  EXPECT_TRUE(of[0].has(2) && of[1].has(2));
}

TEST(Member, AloneIsAllThereIs) {
  MemberSettings settings;
  settings.silence_ns = settings.give_up_ns = settings.start_ns = kSecond;
  Member member(settings, 0);
  EXPECT_TRUE(member.is_root());
  EXPECT_EQ(member.contribute({0, 5}, marked(0, {0, 5})), "");
  EXPECT_NE(member.contribute({0, 5}, marked(0, {0, 5})), "");
  EXPECT_NE(member.contribute({0, 4}, marked(0, {0, 4})), "");
  const std::vector<Outcome> outcomes = member.take_outcomes();
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].sequence, 1);
  EXPECT_TRUE(outcomes[0].columns == marked(0, {0, 5}));
  EXPECT_NE(member.contribute({0, 6}, {Gathered{{{0, std::string((16 << 20) + 1, 'x')}}}}), "");
  const std::vector<Outcome> refused = member.take_outcomes();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused[0].columns.empty());
  member.leave();
  EXPECT_TRUE(member.has_left());
}

}  // namespace
}  // namespace leat::comm::test

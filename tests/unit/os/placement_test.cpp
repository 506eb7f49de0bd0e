// SPDX-License-Identifier: Apache-2.0
// Placement on machines that we describe: none of them need be there.
#include <gtest/gtest.h>

#include "lib/node/placement.hpp"
#include "tests/unit/os/cpus.hpp"

namespace leat::os {
using namespace node;
namespace {

// `threads` hardware threads per core, numbered as Linux does: first one of each core, then the
// second.
Machine machine(int nodes, int cores_per_node, int threads = 1) {
  Machine made;
  const int cores = nodes * cores_per_node;
  for (int thread = 0; thread < threads; ++thread) {
    for (int core = 0; core < cores; ++core) {
      made.cpus.push_back({thread * cores + core, core, core / cores_per_node});
    }
  }
  return made;
}

CpuSet all(const Machine& machine) {
  CpuSet set;
  for (const Cpu& cpu : machine.cpus) set.add(cpu.id);
  return set;
}

TEST(Placement, TakesACoreThatNoRankIsBoundTo) {
  const Machine four = machine(1, 4);
  const Placement placed = place_server(four, all(four), {cpus({0}), cpus({1}), cpus({2})}, 1);
  EXPECT_EQ(placed.cpus, cpus({3}));
  EXPECT_TRUE(placed.pinned);
  EXPECT_FALSE(placed.shared);
  EXPECT_EQ(describe(placed), "core 3, memory node 0");
}

TEST(Placement, SharesAndSaysSoWhenRanksHaveAllCores) {
  const Machine two = machine(1, 2);
  const Placement placed = place_server(two, all(two), {cpus({0}), cpus({1})}, 1);
  EXPECT_TRUE(placed.shared);
  EXPECT_FALSE(placed.pinned);
  EXPECT_EQ(placed.cpus, all(two));
}

TEST(Placement, SharesTheOnlyCore) {
  const Machine one = machine(1, 1);
  EXPECT_TRUE(place_server(one, all(one), {all(one)}, 1).shared);
}

TEST(Placement, AvoidsTheSecondThreadOfARanksCore) {
  const Machine smt = machine(1, 4, 2);
  const Placement placed = place_server(smt, all(smt), {cpus({0, 4}), cpus({1}), cpus({2})}, 1);
  EXPECT_EQ(placed.cpus, cpus({3, 7}));
  const Placement full =
      place_server(smt, all(smt), {cpus({0}), cpus({1}), cpus({2}), cpus({3})}, 1);
  EXPECT_TRUE(full.shared);
}

TEST(Placement, StaysNearMostRanks) {
  const Machine sockets = machine(2, 4);
  const Placement near = place_server(sockets, all(sockets), {cpus({4}), cpus({5}), cpus({0})}, 1);
  EXPECT_EQ(near.cpus, cpus({7}));
  EXPECT_EQ(near.memory_node, 1);
  // Their socket is full: a core of the other one is better than sharing.
  const Placement far =
      place_server(sockets, all(sockets), {cpus({4}), cpus({5}), cpus({6}), cpus({7})}, 1);
  EXPECT_EQ(far.cpus, cpus({3}));
  EXPECT_FALSE(far.shared);
}

TEST(Placement, TakesAsManyCoresAsTheXmlSays) {
  const Machine four = machine(1, 4);
  EXPECT_EQ(place_server(four, all(four), {cpus({0})}, 2).cpus, cpus({2, 3}));
}

TEST(Placement, TakesTheFewerThatAreFreeRatherThanACoreOfARank) {
  const Machine four = machine(1, 4);
  const std::vector<CpuSet> ranks{cpus({0}), cpus({1}), cpus({2})};
  const Placement placed = place_server(four, all(four), ranks, 2);
  EXPECT_EQ(placed.cpus, cpus({3}));
  EXPECT_TRUE(placed.pinned);
  EXPECT_FALSE(placed.shared);
  EXPECT_EQ(warnings(four, placed, ranks, {0, 1, 2}, 2),
            std::vector<std::string>{"of the 2 cores for the server only 1 can be had, since ranks "
                                     "are on the others: core 3"});
}

TEST(Placement, LeavesTheChoiceToTheSystemWhenRanksRoam) {
  const Machine four = machine(1, 4);
  const Placement room = place_server(four, all(four), {all(four), all(four)}, 1);
  EXPECT_FALSE(room.pinned);
  EXPECT_FALSE(room.shared);
  EXPECT_TRUE(place_server(four, all(four), std::vector<CpuSet>(4, all(four)), 1).shared);
}

TEST(Placement, UsesOnlyWhatTheBatchSystemAllows) {
  const Machine eight = machine(1, 8);
  const CpuSet allowed = cpus({2, 3, 4});
  EXPECT_EQ(place_server(eight, allowed, {cpus({2}), cpus({3})}, 1).cpus, cpus({4}));
  EXPECT_TRUE(place_server(eight, allowed, {cpus({2}), cpus({3}), cpus({4})}, 1).shared);
}

TEST(Placement, LeavesTheWholeMachineToTheServerWhenNoRankIsThere) {
  const Machine four = machine(1, 4);
  const Placement placed = place_server(four, all(four), {}, 1);
  EXPECT_EQ(placed.cpus, cpus({3}));
  EXPECT_TRUE(placed.pinned);
}

TEST(Placement, WantsMoreCoresThanThereAre) {
  const Machine two = machine(1, 2);
  const Placement placed = place_server(two, all(two), {cpus({0})}, 3);
  EXPECT_FALSE(placed.shared);
  EXPECT_EQ(placed.cpus, cpus({1}));
  EXPECT_EQ(placed.cores, 1);
}

TEST(Placement, TakesCoresOfTheNextSocketWhenTheNearOneHasTooFew) {
  const Machine sockets = machine(2, 2);
  const Placement placed = place_server(sockets, all(sockets), {cpus({0})}, 2);
  EXPECT_EQ(placed.cpus, cpus({1, 3}));
  EXPECT_EQ(placed.memory_node, 0) << "the segment stays near the ranks";
  EXPECT_EQ(describe(placed), "cores 1,3, memory node 0");
}

TEST(Placement, KeepsTheMemoryNearTheRanksWhenItShares) {
  const Machine sockets = machine(2, 2);
  const Placement placed = place_server(sockets, cpus({2, 3}), {cpus({2}), cpus({3})}, 1);
  EXPECT_TRUE(placed.shared);
  EXPECT_EQ(placed.memory_node, 1);
}

TEST(Placement, AvoidsTheCoresOfARankWithManyThreads) {
  const Machine eight = machine(1, 8);
  const Placement placed = place_server(eight, all(eight), {cpus({0, 1, 2}), cpus({5, 6, 7})}, 1);
  EXPECT_EQ(placed.cpus, cpus({4}));
}

// What mpirun of Open MPI 4.1 does with more than two ranks.
TEST(Placement, FindsRoomInASocketToWhichSeveralRanksAreBound) {
  const Machine sockets = machine(2, 4);
  const CpuSet first = cpus({0, 1, 2, 3}), second = cpus({4, 5, 6, 7});
  const Placement room = place_server(sockets, all(sockets), {first, second, first, second}, 1);
  EXPECT_FALSE(room.shared);
  EXPECT_FALSE(room.pinned) << "which cores are idle is the system's choice";
  EXPECT_EQ(room.cpus, all(sockets));
  const std::vector<CpuSet> full = {first, first, first, first, second, second, second, second};
  EXPECT_TRUE(place_server(sockets, all(sockets), full, 1).shared);
  const std::vector<CpuSet> seven(full.begin(), full.end() - 1);
  EXPECT_FALSE(place_server(sockets, all(sockets), seven, 1).shared);
  EXPECT_TRUE(place_server(sockets, all(sockets), seven, 2).shared);
}

TEST(Placement, TakesARankAloneInItsSocketForOneWithThreads) {
  const Machine sockets = machine(2, 4);
  const CpuSet first = cpus({0, 1, 2, 3}), second = cpus({4, 5, 6, 7});
  EXPECT_TRUE(place_server(sockets, all(sockets), {first, second}, 1).shared);
}

TEST(Placement, TakesARankOfUnknownBindingForOneThatRoams) {
  const Machine two = machine(1, 2);
  const Placement placed = place_server(two, all(two), {cpus({0}), CpuSet()}, 1);
  EXPECT_FALSE(placed.pinned) << "the other rank may be anywhere";
  EXPECT_TRUE(placed.shared);
}

TEST(Placement, TellsCoresOfTwoSocketsApartThatHaveTheSameNumber) {
  Machine twins;
  twins.cpus = {{0, 0, 0}, {1, 0, 1}};
  EXPECT_EQ(place_server(twins, all(twins), {cpus({0})}, 1).cpus, cpus({1}));
}

TEST(Placement, NamesTheRanksAndTheCoresThatItShares) {
  const Machine four = machine(1, 4);
  const std::vector<CpuSet> ranks{cpus({3}), cpus({1}), cpus({2}), cpus({0})};
  const Placement placed = place_server(four, all(four), ranks, 1);
  EXPECT_EQ(warnings(four, placed, ranks, {7, 5, 6, 4}, 1),
            std::vector<std::string>{
                "no core is free for the server: it shares cores 0-3 with ranks 4-7, and output "
                "will cost them time; start fewer ranks per node"});
}

TEST(Placement, UsesTheHardwareThreadsThatRanksLeave) {
  const Machine smt = machine(1, 2, 2);
  const std::vector<CpuSet> ranks{cpus({0}), cpus({1})};
  const Placement placed = place_server(smt, all(smt), ranks, 1);
  EXPECT_EQ(placed.cpus, cpus({2, 3}));
  EXPECT_TRUE(placed.shared) << "the cores are the ranks' too";
  ASSERT_EQ(warnings(smt, placed, ranks, {0, 1}, 1).size(), 1u);
  EXPECT_NE(warnings(smt, placed, ranks, {0, 1}, 1)[0].find(
                "shares cores 2-3 with ranks 0-1, on cores 0-1"),
            std::string::npos);
}

TEST(Placement, KeepsOffBoundRanksBesideOneThatRoams) {
  const Machine four = machine(1, 4);
  const Placement placed = place_server(four, all(four), {cpus({0}), all(four)}, 1);
  EXPECT_EQ(placed.cpus, cpus({1, 2, 3}));
  EXPECT_FALSE(placed.pinned);
}

TEST(Placement, GoesToTheNearestNodeThatHasAFreeCore) {
  Machine ring = machine(4, 2);
  ring.distances = {{{0, 1}, 32}, {{0, 2}, 16}, {{0, 3}, 32}};
  const Placement placed = place_server(ring, all(ring), {cpus({0}), cpus({1})}, 1);
  EXPECT_EQ(placed.cpus, cpus({5}));
  EXPECT_EQ(placed.memory_node, 2);
}

// A core whose own node has no memory, and nodes without cores (HBM, CXL).
TEST(Placement, PutsTheSegmentWhereThereIsMemory) {
  Machine odd = machine(3, 2);
  odd.nodes = {{0, 1u << 30}, {1, 0}, {2, 1u << 30}, {3, 1u << 30}};
  odd.distances = {{{1, 0}, 31}, {{1, 2}, 17}, {{1, 3}, 12}};
  const std::vector<CpuSet> ranks{cpus({2}), cpus({0})};
  const Placement placed = place_server(odd, cpus({0, 1, 2, 3}), ranks, 1);
  const auto of = [&](MemoryPolicy policy) {
    return place_memory(odd, all(odd), placed, ranks, policy);
  };
  EXPECT_EQ(of(MemoryPolicy::client).of_rank, (std::vector<int>{2, 0}));
  EXPECT_EQ(of(MemoryPolicy::interleave).interleaved, (std::vector<int>{0, 2}));
}

TEST(Placement, UsesANodeWithoutCoresWhereNoOtherHasMemory) {
  Machine odd = machine(1, 2);
  odd.nodes = {{0, 0}, {5, 1u << 30}};
  EXPECT_EQ(place_server(odd, all(odd), {cpus({0})}, 1).memory_node, 5);
}

class Sockets : public ::testing::Test {
 protected:
  Machine sockets_ = machine(2, 4);
  std::vector<CpuSet> ranks_{cpus({0}), cpus({1}), cpus({4}), all(sockets_)};
  MemoryPlacement memory(MemoryPolicy policy, std::initializer_list<int> server) {
    const Placement placed{cpus(server), 1, false, true, static_cast<int>(server.size())};
    return place_memory(sockets_, all(sockets_), placed, ranks_, policy);
  }
};

TEST(SeveralServers, AreEachOnTheMemoryNodeOfTheirRanks) {
  const Machine sockets = machine(2, 4);
  const std::vector<CpuSet> ranks{cpus({0}), cpus({1}), cpus({4}), cpus({5})};
  const std::vector<Placement> placed = place_servers(sockets, all(sockets), ranks, 3, 2);
  ASSERT_EQ(placed.size(), 2u);
  EXPECT_EQ(placed[0].cpus, cpus({2, 3}));
  EXPECT_EQ(placed[1].cpus, cpus({7}));
  EXPECT_EQ(placed[0].memory_node, 0);
  EXPECT_EQ(placed[1].memory_node, 1);
  EXPECT_TRUE(placed[0].pinned && placed[1].pinned);
}

TEST(SeveralServers, TakeNoCoreOfEachOtherNorOfOthersRanks) {
  const Machine one = machine(1, 6);
  const std::vector<CpuSet> ranks{cpus({0}), cpus({1}), cpus({2}), cpus({5})};
  const std::vector<Placement> placed = place_servers(one, all(one), ranks, 2, 2);
  EXPECT_EQ(placed[0].cpus, cpus({4}));
  EXPECT_EQ(placed[1].cpus, cpus({3}));
}

TEST(SeveralServers, ShareWhatThereIsWhenTheyCannotEachHaveACore) {
  const Machine one = machine(1, 4);
  const std::vector<CpuSet> ranks{cpus({0}), cpus({1}), cpus({2})};
  for (const Placement& placed : place_servers(one, all(one), ranks, 2, 2)) {
    EXPECT_EQ(placed.cpus, cpus({3}));
    EXPECT_FALSE(placed.pinned);
    EXPECT_TRUE(placed.shared);
  }
}

TEST(SeveralServers, OfRanksThatRoamKeepToAMemoryNodeEach) {
  const Machine sockets = machine(2, 4);
  const std::vector<CpuSet> ranks(4, all(sockets));
  const std::vector<Placement> placed = place_servers(sockets, all(sockets), ranks, 2, 2);
  EXPECT_EQ(placed[0].cpus, cpus({0, 1, 2, 3}));
  EXPECT_EQ(placed[1].cpus, cpus({4, 5, 6, 7}));
  EXPECT_EQ(placed[1].memory_node, 1);
  EXPECT_FALSE(placed[0].pinned || placed[0].shared);
}

TEST_F(Sockets, OfRanksHaveTheirPartsAtHomeAndOfThoseThatRoamAtTheServers) {
  const MemoryPlacement placed = memory(MemoryPolicy::client, {7});
  EXPECT_EQ(placed.of_rank, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(describe(placed, {10, 11, 12, 13}), "memory node 0 for ranks 10-11, 1 for ranks 12-13");
}

TEST_F(Sockets, HaveAllOfItAtTheServer) {
  const MemoryPlacement placed = memory(MemoryPolicy::server, {7});
  EXPECT_EQ(placed.of_rank, (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(describe(placed, {0, 1, 2, 3}), "memory node 1");
}

TEST_F(Sockets, HaveItAtTheNearerOfTwoCoresOfTheServer) {
  EXPECT_EQ(memory(MemoryPolicy::server, {3, 7}).of_rank, (std::vector<int>{0, 0, 1, 1}));
}

TEST_F(Sockets, HaveItInTurns) {
  const MemoryPlacement placed = memory(MemoryPolicy::interleave, {7});
  EXPECT_EQ(placed.interleaved, (std::vector<int>{0, 1}));
  EXPECT_TRUE(placed.of_rank.empty());
  EXPECT_EQ(describe(placed, {0, 1, 2, 3}), "memory nodes 0-1 in turns");
}

}  // namespace
}  // namespace leat::os

// SPDX-License-Identifier: Apache-2.0
// Placement on machines that we describe: none of them need be there.
#include <gtest/gtest.h>

#include "lib/platform/placement.hpp"

namespace leat::platform {
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

CpuSet cpus(std::initializer_list<int> numbers) {
  CpuSet set;
  for (const int number : numbers) set.add(number);
  return set;
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
  EXPECT_TRUE(place_server(four, all(four), {cpus({0}), cpus({1}), cpus({2})}, 2).shared);
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
  EXPECT_TRUE(placed.shared);
  EXPECT_EQ(placed.cpus, all(two));
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

}  // namespace
}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/leases.hpp"

#include <gtest/gtest.h>

namespace {

using leat::shm::Region;
using leat::shm::RegionArena;
using leat::shm::Seal;

constexpr std::uint64_t kRegion = 1 << 20;

TEST(RegionArena, BlocksAreAlignedAndHoldTheirHeader) {
  EXPECT_EQ(RegionArena::block_bytes(0), 192u);
  EXPECT_EQ(RegionArena::block_bytes(1), 256u);
  EXPECT_EQ(RegionArena::block_bytes(64), 256u);
  EXPECT_EQ(RegionArena::block_bytes(65), 320u);
}

TEST(RegionArena, ASizeThatOverflowsIsZero) {
  EXPECT_EQ(RegionArena::block_bytes(~std::uint64_t{0}), 0u);
  EXPECT_EQ(RegionArena::block_bytes(~std::uint64_t{0} - 200), 0u);
}

TEST(RegionArena, CutsBlocksOneAfterTheOtherAndSaysWhenThereIsNoRoom) {
  RegionArena arena(kRegion);
  EXPECT_EQ(arena.cut(64), 0u) << "no region yet";
  ASSERT_TRUE(arena.add({65536, kRegion}));
  EXPECT_EQ(arena.cut(256), 65536u);
  EXPECT_EQ(arena.cut(256), 65536u + 256);
  EXPECT_EQ(arena.cut(kRegion), 0u);
  EXPECT_EQ(arena.cut(kRegion - 512), 65536u + 512) << "the last byte is used";
  EXPECT_EQ(arena.cut(64), 0u);
}

TEST(RegionArena, TheSpareReplacesTheCurrentAndTheSealCountsItsBlocks) {
  RegionArena arena(kRegion);
  Seal seal;
  EXPECT_FALSE(arena.replace(&seal));
  ASSERT_TRUE(arena.add({65536, kRegion}));
  ASSERT_NE(arena.cut(64), 0u);
  ASSERT_NE(arena.cut(64), 0u);
  ASSERT_TRUE(arena.add({1 << 24, kRegion}));
  EXPECT_FALSE(arena.add({1 << 25, kRegion})) << "a third region has no place";
  ASSERT_TRUE(arena.replace(&seal));
  EXPECT_EQ(seal.offset, 65536u);
  EXPECT_EQ(seal.blocks, 2u);
  EXPECT_EQ(arena.cut(64), 1u << 24);
}

TEST(RegionArena, AsksAheadWhenMoreThanHalfIsUsed) {
  RegionArena arena(kRegion);
  ASSERT_TRUE(arena.add({65536, kRegion}));
  EXPECT_FALSE(arena.runs_low());
  ASSERT_NE(arena.cut(kRegion / 2 + 64), 0u);
  EXPECT_TRUE(arena.runs_low());
  ASSERT_TRUE(arena.add({1 << 24, kRegion}));
  EXPECT_FALSE(arena.runs_low());
}

TEST(RegionArena, WhatWasCutLastIsTakenBackAndNothingElse) {
  RegionArena arena(1024);
  EXPECT_FALSE(arena.uncut(0, 64)) << "there is no region";
  arena.add({4096, 1024});
  const std::uint64_t first = arena.cut(128), second = arena.cut(64);
  EXPECT_FALSE(arena.uncut(first, 128));
  EXPECT_TRUE(arena.uncut(second, 64));
  EXPECT_FALSE(arena.uncut(second, 64)) << "it is free already";
  EXPECT_EQ(arena.cut(192), second);
  arena.add({8192, 1024});
  Seal seal;
  ASSERT_TRUE(arena.replace(&seal));
  EXPECT_EQ(seal.blocks, 2u);
  EXPECT_FALSE(arena.uncut(second, 192)) << "of a region that is sealed";
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/zones.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/server/sizes.hpp"

namespace leat::server {
namespace {

TEST(Zones, AreOneWhereAllRanksAreOnOneNode) {
  const std::vector<Zone> zones = zones_of({kUnit, 64 * kMiB}, kUnit, {1, 1, 1});
  ASSERT_EQ(zones.size(), 1u);
  EXPECT_EQ(zones[0].node, 1);
  ASSERT_EQ(zones[0].ranges().size(), 1u);
  EXPECT_EQ(zones[0].ranges()[0].bytes, 64 * kMiB);
  EXPECT_TRUE(zones_of({kUnit, 64 * kMiB}, kUnit, {}).empty());
}

TEST(Zones, AreAsLargeAsTheShareOfTheRanks) {
  const std::vector<Zone> zones = zones_of({0, 1024 * kMiB}, 512 * 1024, {0, 0, 0, 2});
  ASSERT_EQ(zones.size(), 2u);
  EXPECT_EQ(zones[0].node, 0);
  EXPECT_EQ(zones[1].node, 2);
  EXPECT_NEAR(static_cast<double>(zones[0].large.bytes) / kMiB, 3 * 1018.0 / 4, 2.0);
  EXPECT_EQ(zones[0].small.bytes + zones[1].small.bytes, 6 * kMiB);
}

TEST(Zones, AreAllOfTheDataOnceInWholeUnitsAndMostOfItInOnePiece) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto dice = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
    const shm::Region data{kUnit * (1 + dice(100)), kUnit * (1 + dice(1 << dice(14)))};
    std::vector<int> of_rank;
    for (int i = 0; i <= dice(200); ++i) of_rank.push_back(dice(7));
    std::vector<shm::Region> all;
    std::uint64_t end_of_small = data.offset;
    for (const Zone& zone : zones_of(data, kUnit * (1 + dice(7)), of_rank)) {
      for (const shm::Region& each : zone.ranges()) all.push_back(each);
      end_of_small = std::max(end_of_small, zone.small.offset + zone.small.bytes);
    }
    std::ranges::sort(all, {}, &shm::Region::offset);
    std::uint64_t at = data.offset;
    for (const shm::Region& each : all) {
      EXPECT_EQ(each.offset, at);
      EXPECT_EQ(each.bytes % kUnit, 0u);
      at += each.bytes;
    }
    EXPECT_EQ(at, data.offset + data.bytes);
    EXPECT_LE(end_of_small - data.offset, data.bytes / 4);
  }
}

}  // namespace
}  // namespace leat::server

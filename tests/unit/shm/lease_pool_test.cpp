// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/leases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace {

using leat::shm::LeasePool;
using leat::shm::Region;

constexpr std::uint64_t kUnit = 65536;

TEST(LeasePool, TakesFromBothEnds) {
  LeasePool pool(kUnit, 10 * kUnit, kUnit);
  EXPECT_EQ(pool.take_low(1)->offset, kUnit);
  EXPECT_EQ(pool.take_high(kUnit + 1)->offset, 9 * kUnit);
  EXPECT_EQ(pool.free_bytes(), 7 * kUnit);
}

TEST(LeasePool, RefusesWhatDoesNotFitAndGivesEverythingThatDoes) {
  LeasePool pool(kUnit, 4 * kUnit, kUnit);
  EXPECT_FALSE(pool.take_low(5 * kUnit));
  EXPECT_FALSE(pool.take_high(5 * kUnit));
  EXPECT_TRUE(pool.take_low(4 * kUnit));
  EXPECT_FALSE(pool.take_low(1));
}

TEST(LeasePool, RefusesSizesThatNobodyMeans) {
  LeasePool pool(kUnit, 4 * kUnit, kUnit);
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0} - kUnit}) {
    EXPECT_FALSE(pool.take_low(bytes)) << bytes;
    EXPECT_FALSE(pool.take_high(bytes)) << bytes;
  }
  EXPECT_EQ(pool.free_bytes(), 4 * kUnit);
}

TEST(LeasePool, NeighboursGrowTogetherWhateverTheOrderOfTheirReturn) {
  std::vector<int> order{0, 1, 2, 3};
  do {
    LeasePool pool(kUnit, 4 * kUnit, kUnit);
    std::vector<Region> taken;
    for (int i = 0; i < 4; ++i) taken.push_back(*pool.take_low(kUnit));
    for (const int i : order) pool.give_back(taken[i]);
    EXPECT_TRUE(pool.take_low(4 * kUnit)) << "the pool is in pieces";
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(LeasePool, LooksNearFirstAndThenEverywhere) {
  LeasePool pool(kUnit, 16 * kUnit, kUnit);
  const std::vector<Region> near{{4 * kUnit, 2 * kUnit}, {8 * kUnit, 4 * kUnit}};
  EXPECT_EQ(pool.take_low(kUnit, near)->offset, 4 * kUnit);
  EXPECT_EQ(pool.take_high(kUnit, near)->offset, 11 * kUnit);
  EXPECT_EQ(pool.take_low(2 * kUnit, near)->offset, 8 * kUnit) << "the first has no room for it";
  EXPECT_EQ(pool.take_high(kUnit, near)->offset, 10 * kUnit);
  EXPECT_EQ(pool.take_high(kUnit, near)->offset, 5 * kUnit) << "the last is full";
  EXPECT_EQ(pool.take_high(kUnit, near)->offset, 16 * kUnit) << "both are full";
  EXPECT_EQ(pool.take_low(kUnit, near)->offset, kUnit);
  EXPECT_EQ(pool.take_high(3 * kUnit, near)->offset, 13 * kUnit);
  EXPECT_EQ(pool.free_bytes(), 5 * kUnit);
}

// Where free memory reaches over both ends of a range, only what is inside is near.
TEST(LeasePool, LooksAtAllThatIsFreeInARangeHoweverItIsCut) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 500; ++turn) {
    LeasePool pool(kUnit, 32 * kUnit, kUnit);
    std::vector<bool> taken(34);
    for (std::uint64_t i = 1; i <= 32; ++i) {
      taken[i] = random() % 3 == 0;
      if (!taken[i]) continue;
      ASSERT_TRUE(pool.take_at({i * kUnit, kUnit}));
    }
    const std::uint64_t begin = 1 + random() % 32, end = begin + 1 + random() % (33 - begin);
    std::uint64_t first = 0, last = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (taken[i]) continue;
      first = first ? first : i;
      last = i;
    }
    const std::vector<Region> near{{begin * kUnit, (end - begin) * kUnit}};
    const auto low = pool.place_low(kUnit, near), high = pool.place_high(kUnit, near);
    if (first != 0) {
      EXPECT_EQ(low->offset, first * kUnit);
      EXPECT_EQ(high->offset, last * kUnit);
    } else {
      EXPECT_EQ(low.has_value(), pool.free_bytes() > 0);
    }
  }
}

TEST(LeasePool, GivesNothingForWhichThereIsNoMemoryYetAndNothingElseInstead) {
  LeasePool pool(kUnit, 8 * kUnit, kUnit);
  const Region before = *pool.take_high(2 * kUnit);
  pool.withhold();
  EXPECT_FALSE(pool.take_low(kUnit));
  pool.supply({2 * kUnit, 3 * kUnit});
  EXPECT_FALSE(pool.take_low(kUnit)) << "its place is another one";
  EXPECT_EQ(pool.place_low(kUnit)->offset, kUnit);
  pool.supply({kUnit, kUnit});
  EXPECT_EQ(pool.take_low(2 * kUnit)->offset, kUnit);
  EXPECT_FALSE(pool.take_high(kUnit));
  pool.give_back(before);  // was never missing
  EXPECT_EQ(pool.take_high(2 * kUnit)->offset, before.offset);
  EXPECT_TRUE(pool.is_missing({5 * kUnit, kUnit}));
  EXPECT_FALSE(pool.is_missing({3 * kUnit, 2 * kUnit}));
  EXPECT_FALSE(pool.is_missing({7 * kUnit, kUnit}));
}

TEST(LeasePool, IsSmallerByWhatIsForfeited) {
  LeasePool pool(kUnit, 8 * kUnit, kUnit);
  pool.withhold();
  pool.forfeit({kUnit, 5 * kUnit});
  pool.forfeit({kUnit, 5 * kUnit});
  EXPECT_EQ(pool.total_bytes(), 3 * kUnit);
  EXPECT_EQ(pool.free_bytes(), 3 * kUnit);
  ASSERT_EQ(pool.missing().size(), 1u);
  pool.supply(pool.missing()[0]);
  EXPECT_EQ(pool.take_low(3 * kUnit)->offset, 6 * kUnit);
}

TEST(LeasePool, RandomUseNeverHandsOutAByteTwice) {
  constexpr std::uint64_t kUnits = 256;
  LeasePool pool(0, kUnits * kUnit, kUnit);
  std::vector<int> owner(kUnits, 0);
  std::vector<Region> taken;
  std::mt19937 random(1);
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0 && !taken.empty()) {
      const std::size_t i = random() % taken.size();
      for (auto u = taken[i].offset / kUnit; u < (taken[i].offset + taken[i].bytes) / kUnit; ++u) {
        ASSERT_EQ(owner[u]--, 1);
      }
      pool.give_back(taken[i]);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const std::uint64_t bytes = 1 + random() % (20 * kUnit);
    const auto region = random() % 2 ? pool.take_low(bytes) : pool.take_high(bytes);
    if (!region) continue;
    ASSERT_GE(region->bytes, bytes);
    for (auto u = region->offset / kUnit; u < (region->offset + region->bytes) / kUnit; ++u) {
      ASSERT_EQ(owner[u]++, 0);
    }
    taken.push_back(*region);
  }
  for (const Region& region : taken) pool.give_back(region);
  EXPECT_EQ(pool.free_bytes(), pool.total_bytes());
  EXPECT_TRUE(pool.take_low(kUnits * kUnit));
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/coverage/boxes.hpp"

#include <gtest/gtest.h>

#include <random>

namespace leat::server {
namespace {

Box box(std::vector<std::int64_t> low, std::vector<std::int64_t> high) {
  Box made;
  std::copy(low.begin(), low.end(), made.low.begin());
  std::copy(high.begin(), high.end(), made.high.begin());
  return made;
}

TEST(FreeCells, AreNoneWhereBoxesTileTheWholeAndAllWhereThereAreNoBoxes) {
  std::vector<Box> tiles;
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 16; ++x) tiles.push_back(box({3 * y, 2 * x}, {3 * y + 3, 2 * x + 2}));
  const Box whole = box({0, 0}, {24, 32});
  EXPECT_TRUE(free_cells(whole, tiles, 2).boxes.empty());
  EXPECT_EQ(free_cells(whole, {}, 2).boxes, std::vector<Box>{whole});
  EXPECT_EQ(free_cells(whole, {}, 2).cells, 768);
  EXPECT_TRUE(free_cells(box({}, {}), {box({}, {})}, 0).boxes.empty()) << "a scalar that came";
  EXPECT_EQ(free_cells(box({}, {}), {}, 0).cells, 1) << "a scalar that did not";
}

TEST(FreeCells, AreJoinedToAsFewBoxesAsOneWouldName) {
  const Box whole = box({0, 0}, {8, 4});
  EXPECT_EQ(free_cells(whole, std::vector<Box>(4, box({0, 0}, {2, 4})), 2).boxes,
            std::vector<Box>{box({2, 0}, {8, 4})});
  EXPECT_EQ(free_cells(whole, {box({0, 0}, {3, 4}), box({5, 0}, {8, 4})}, 2).boxes,
            std::vector<Box>{box({3, 0}, {5, 4})});
}

TEST(FreeCells, AreThoseThatCountingCellByCellFinds) {
  std::mt19937 dice(7);
  const auto number = [&dice](int least, int most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(dice);
  };
  constexpr std::int64_t kSide = 7;
  const Box whole = box({0, 0, 0}, {kSide, kSide, kSide});
  for (int round = 0; round < 100; ++round) {
    std::vector<Box> boxes;
    for (std::int64_t count = number(0, 12); count > 0; --count) {
      Box made;
      for (unsigned d = 0; d < 3; ++d) {
        made.low[d] = number(-1, kSide - 1);
        made.high[d] = made.low[d] + number(0, kSide);
      }
      boxes.push_back(made);
    }
    double expected = 0, listed = 0;
    const FreeCells found = free_cells(whole, boxes, 3);
    for (std::int64_t cell = 0; cell < kSide * kSide * kSide; ++cell) {
      const std::int64_t z = cell / 49, y = cell / 7 % 7, x = cell % 7;
      const Box one = box({z, y, x}, {z + 1, y + 1, x + 1});
      const auto in = [&one](const std::vector<Box>& in_these) {
        return std::count_if(in_these.begin(), in_these.end(),
                             [&](const Box& b) { return !is_empty(common(b, one, 3), 3); });
      };
      ASSERT_EQ(in(found.boxes), in(boxes) == 0 ? 1 : 0) << "round " << round << " cell " << cell;
      expected += in(boxes) == 0;
    }
    for (const Box& each : found.boxes) listed += cells_of(each, 3);
    EXPECT_EQ(found.cells, expected);
    EXPECT_EQ(listed, expected);
  }
}

TEST(FreeCells, OfBoxesThatLieAnyhowAreFoundOrGivenUpSoon) {
  std::mt19937_64 dice(3);
  std::vector<Box> boxes;
  for (int i = 0; i < 20000; ++i) {
    Box made;
    for (unsigned d = 0; d < 4; ++d) {
      made.low[d] = static_cast<std::int64_t>(dice() % 1000000);
      made.high[d] = made.low[d] + 1 + static_cast<std::int64_t>(dice() % 100000);
    }
    boxes.push_back(made);
  }
  const FreeCells found =
      free_cells(box({0, 0, 0, 0}, {1 << 20, 1 << 20, 1 << 20, 1 << 20}), boxes, 4);
  EXPECT_LE(found.boxes.size(), kMostFreeBoxes);
}

}  // namespace
}  // namespace leat::server

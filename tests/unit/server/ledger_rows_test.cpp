// SPDX-License-Identifier: Apache-2.0
// The run-length structure against a map that keeps everything.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "server/state/ledger/rows.hpp"

namespace leat::server {
namespace {

using Cell = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;  // iteration, fate, ranks
using Cells = std::map<Cell, std::uint64_t>;                          // blocks

Row about(std::int64_t iteration, std::uint32_t fate, std::uint32_t ranks, std::uint64_t blocks) {
  Row row;
  row.first = row.last = iteration;
  row.fate = fate;
  row.ranks = ranks;
  row.blocks = blocks;
  row.bytes = 8 * blocks;
  return row;
}

std::uint64_t blocks_of(const Cells& cells) {
  std::uint64_t sum = 0;
  for (const auto& [cell, blocks] : cells) sum += blocks;
  return sum;
}

// What the rows say of which iterations, were each of its own.
std::map<Cell, bool> said_by(const Rows& rows) {
  std::map<Cell, bool> said;
  for (const Row& row : rows) {
    for (std::int64_t i = row.first; i <= row.last; i += row.step)
      said[{i, row.fate, row.ranks}] = true;
  }
  return said;
}

TEST(LedgerRows, SayWhatAMapSaysForRandomFates) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    RankSets sets(8);
    const std::uint32_t some = sets.number({{2, 3}}), others = sets.number({{0, 1}, {7, 7}});
    Rows rows;
    Cells cells;
    const int period = 1 + static_cast<int>(seed % 3);
    for (std::int64_t i = 0; i < 120; ++i) {
      const std::uint32_t fate = random() % 8 == 0 ? random() % 4 : (i % period == 0 ? 1 : 2);
      for (const std::uint32_t ranks : {RankSets::kEverybody, some, others}) {
        if (ranks != RankSets::kEverybody && random() % 6 != 0) continue;
        const std::uint64_t blocks = 1 + random() % 3;
        rows.add(about(i, fate, ranks, blocks), &sets);
        cells[{i, fate, ranks}] += blocks;
      }
    }
    const std::map<Cell, bool> said = said_by(rows);
    EXPECT_EQ(said.size(), cells.size()) << "seed " << seed;
    for (const auto& [cell, blocks] : cells) EXPECT_TRUE(said.count(cell)) << "seed " << seed;
    std::uint64_t blocks = 0, bytes = 0;
    for (const Row& row : rows) {
      EXPECT_TRUE(row.exact);
      blocks += row.blocks;
      bytes += row.bytes;
    }
    EXPECT_EQ(blocks, blocks_of(cells));
    EXPECT_EQ(bytes, 8 * blocks);
  }
}

TEST(LedgerRows, OneRowTakesAnySteadyStep) {
  RankSets sets(4);
  Rows rows;
  for (std::int64_t i = 0; i < 1000; ++i) rows.add(about(i, i % 10 == 0 ? 1 : 2, 1, 4), &sets);
  EXPECT_LE(rows.all().size(), 1u + 100u);
  for (const Row& row : rows) {
    if (row.fate != 1) continue;
    EXPECT_EQ(row.step, 10);
    EXPECT_EQ(row.last, 990);
    EXPECT_EQ(row.iterations(), 100);
  }
}

TEST(LedgerRows, FatesThatTakeTurnsAreOneRowEach) {
  RankSets sets(4);
  Rows rows;
  for (std::int64_t i = 0; i < 10'000; ++i)
    rows.add(about(i, static_cast<std::uint32_t>(i % 30), 1, 4), &sets);
  EXPECT_EQ(rows.all().size(), 30u);
}

TEST(LedgerRows, ChaosStaysBoundedAndIsSaidToBeInexact) {
  std::mt19937 random(1);
  RankSets sets(128);
  Rows rows;
  std::map<std::uint32_t, std::uint64_t> blocks;  // by fate
  for (std::int64_t i = 0; i < 100'000; ++i) {
    Ranks ranks;
    for (int rank = 0; rank < 128; ++rank) {
      if (random() % 2 == 0) append_rank(&ranks, rank);
    }
    const std::uint32_t fate = random() % 5;
    rows.add(about(i, fate, sets.number(ranks), 3), &sets);
    blocks[fate] += 3;
  }
  EXPECT_LE(rows.all().size(), Rows::kMost);
  bool all_exact = true;
  for (const Row& row : rows) {
    blocks[row.fate] -= row.blocks;
    all_exact &= row.exact;
  }
  EXPECT_FALSE(all_exact);
  for (const auto& [fate, left] : blocks) EXPECT_EQ(left, 0u) << "fate " << fate;
  EXPECT_TRUE(rows.all().back().exact) << "the newest is";
}

TEST(LedgerRows, IterationsAtTheEndOfTheNumbersHarmNothing) {
  RankSets sets(1);
  Rows rows;
  for (const std::int64_t i : {std::int64_t{0}, INT64_MAX - 1, INT64_MAX, std::int64_t{5}})
    rows.add(about(i, 1, 1, 1), &sets);
  EXPECT_EQ(rows.all().size(), 3u);
}

TEST(RankSets, SayRangesAndUnions) {
  Ranks ranks;
  for (const int rank : {0, 1, 1, 2, 7, INT32_MAX}) append_rank(&ranks, rank);
  EXPECT_EQ(text_of(ranks), "0-2, 7, 2147483647");
  EXPECT_EQ(text_of(united({{0, 1}, {9, 9}}, {{2, 4}, {8, 8}})), "0-4, 8-9");
  EXPECT_EQ(text_of({}), "-");
}

TEST(RankSets, TooManyAreEverybody) {
  RankSets sets(4);
  for (std::int32_t i = 0; i < 20'000; ++i) sets.number({{i, i}});
  EXPECT_EQ(sets.number({{30'000, 30'000}}), RankSets::kEverybody);
  EXPECT_EQ(sets[sets.number({{17, 17}})], (Ranks{{17, 17}}));
}

}  // namespace
}  // namespace leat::server

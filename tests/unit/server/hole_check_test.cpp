// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <chrono>

#include "server/pipeline/coverage/array_checks.hpp"

namespace leat::server {
namespace {

constexpr std::int64_t kRows = 2, kColumns = 4;

// Rows of 2 x 4 cells, with a ghost row on both sides.
model::Model model_of(std::uint32_t variables, bool partial = false, bool once = false) {
  model::Model model;
  model::Layout& layout = model.layouts.emplace_back();
  layout.name = "rows";
  layout.type = ScalarType::int64;
  layout.dimensions.resize(2);
  layout.dimensions[0].name = "y";
  layout.dimensions[0].ghost_low = layout.dimensions[0].ghost_high = 1;
  layout.dimensions[1].name = "x";
  layout.has_global = true;
  layout.partial = partial;
  layout.where = {"run.xml", 3, 1};
  for (std::uint32_t v = 0; v < variables; ++v) {
    model::Variable& variable = model.variables.emplace_back();
    variable.name = "u" + std::to_string(v);
    variable.time_varying = !once;
    variable.where = {"run.xml", 4 + static_cast<int>(v), 1};
  }
  return model;
}

Block block_at(std::uint32_t variable, std::int32_t rank, std::int64_t row, std::int64_t rows) {
  Block made;
  made.variable = variable;
  made.rank = rank;
  made.has_position = true;
  made.extent = {kRows + 2, kColumns};
  made.position = {row, 0};
  made.global = {rows, kColumns};
  return made;
}

Iteration iteration_of(std::int64_t number, std::vector<Block> blocks) {
  return Iteration{number, true, std::move(blocks), {}, {}};
}

// Of all ranks, each where it belongs, or all at the same place.
Iteration rows_of(std::int64_t number, std::uint32_t variables, std::int32_t ranks, bool right) {
  Iteration made{number, true, {}, {}, {}};
  for (std::uint32_t v = 0; v < variables; ++v)
    for (std::int32_t r = 0; r < ranks; ++r)
      made.blocks.push_back(block_at(v, r, right ? kRows * r : 0, kRows * ranks));
  return made;
}

TEST(HoleCheck, NamesVariableRanksAndBoxes) {
  const model::Model model = model_of(2);
  HoleCheck check(model, true);
  EXPECT_TRUE(check.check(rows_of(0, 2, 4, true)).empty());
  const std::vector<Finding> found = check.check(rows_of(1, 1, 4, false));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_STREQ(found[0].what, "covered");
  EXPECT_EQ(found[0].text,
            "\"u0\" (run.xml:4): what ranks 0-2 (y=0:2, x=0:4) wrote is not stored, since ranks or "
            "blocks with higher numbers wrote the same cells of the global array: rank 3 (y=0:2, "
            "x=0:4). Call leat_set_position to say where each block lies");
  EXPECT_EQ(found[1].iteration, 1);
  EXPECT_EQ(found[1].text,
            "\"u0\" (run.xml:4) has holes: 24 of the 32 cells of its global array (75 %) are "
            "written by no rank and hold fill values: (y=2:8, x=0:4); written by ranks 0-3 (y=0:2, "
            "x=0:4). Check the positions and the global extents; when holes are meant, give layout "
            "\"rows\" (run.xml:3) coverage=\"partial\"");
  EXPECT_TRUE(check.finish().empty());
}

TEST(HoleCheck, SaysTheSameOfTheSameHolesWhoeverWroteTheRest) {
  const model::Model model = model_of(1);
  HoleCheck check(model, true);
  const std::string first = check.check(iteration_of(0, {block_at(0, 0, 0, 4)}))[0].text;
  EXPECT_TRUE(check.check(rows_of(1, 1, 2, true)).empty());
  EXPECT_EQ(check.check(iteration_of(2, {block_at(0, 1, 0, 4)}))[0].text, first);
  EXPECT_NE(check.check(iteration_of(3, {block_at(0, 1, 2, 4)}))[0].text, first);
}

TEST(HoleCheck, OfHolesThatChangeAllTheTimeSaysSomeOnly) {
  const model::Model model = model_of(1);
  HoleCheck check(model, true);
  std::set<std::string> texts;
  for (int i = 0; i < 100; ++i)
    texts.insert(check.check(iteration_of(i, {block_at(0, 0, i, 200)}))[0].text);
  EXPECT_EQ(texts.size(), HoleCheck::kMostTold);
}

TEST(HoleCheck, SaysNothingWhereHolesAreMeant) {
  const model::Model model = model_of(1, true);
  EXPECT_TRUE(HoleCheck(model, true).check(iteration_of(0, {block_at(0, 0, 0, 8)})).empty());
}

TEST(HoleCheck, WhatIsWrittenOnceMayComeInTwoIterations) {
  const model::Model model = model_of(1, false, true);
  HoleCheck check(model, true);
  EXPECT_TRUE(check.check(iteration_of(0, {block_at(0, 0, 0, 4)})).empty());
  EXPECT_TRUE(check.check(iteration_of(1, {block_at(0, 1, 2, 4)})).empty());
  EXPECT_TRUE(check.finish().empty());
  HoleCheck other(model, true);
  EXPECT_TRUE(other.check(iteration_of(0, {block_at(0, 0, 0, 4)})).empty());
  EXPECT_EQ(other.finish().size(), 1u);
  HoleCheck late(model, false);
  EXPECT_TRUE(late.check(iteration_of(7, {block_at(0, 0, 0, 4)})).empty() && late.finish().empty());
}

TEST(HoleCheck, CostsMuchLessThanAMicrosecondForEachBlock) {
  const model::Model model = model_of(1000);
  HoleCheck check(model, true);
  const Iteration one = rows_of(0, 1000, 128, true);
  double best_ns = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(check.check(one).empty());
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best_ns = std::min(best_ns, took.count() / static_cast<double>(one.blocks.size()));
  }
  RecordProperty("ns_per_block", std::to_string(best_ns));
  printf("%.1f ns per block\n", best_ns);
#ifdef NDEBUG
  EXPECT_LT(best_ns, 500);
#endif
}

TEST(DifferingOverlaps, AreFoundToTheCellAndGhostsAreNotLookedAt) {
  const model::Model model = model_of(1);
  std::vector<std::int64_t> a(16), b(16);
  Block first = block_at(0, 0, 0, 3), second = block_at(0, 1, 1, 3);
  first.data = a.data();
  second.data = b.data();
  for (std::size_t i = 0; i < 4; ++i) a[i] = b[12 + i] = -1;    // ghosts
  for (std::size_t i = 0; i < 4; ++i) a[8 + i] = b[4 + i] = 7;  // the row that both have
  EXPECT_TRUE(differing_overlaps(model, iteration_of(0, {first, second})).empty());
  b[4 + 2] = 8;
  const std::vector<Finding> found = differing_overlaps(model, iteration_of(0, {first, second}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].text.find("block 0 of rank 0 and block 0 of rank 1 both have (y=1:2, x=0:4) "
                               "and differ there, first at (y=1:2, x=2:3)"),
            std::string::npos)
      << found[0].text;
}

// Coordinates that all ranks write whole, in each iteration.
TEST(HoleCheck, WhatAllWriteAlikeMayComeMoreThanOnce) {
  model::Model model = model_of(1, false, true);
  for (model::Dimension& each : model.layouts[0].dimensions) each.ghost_low = each.ghost_high = 0;
  HoleCheck check(model, true);
  const std::vector<std::int64_t> values(8, 7), others(8, 8);
  const auto written = [](std::int64_t number, const std::vector<std::int64_t>& data) {
    std::vector<Block> blocks;
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      Block& made = blocks.emplace_back(block_at(0, rank, 0, kRows));
      made.extent = {kRows, kColumns};
      made.data = data.data();
      made.bytes = 8 * data.size();
    }
    return iteration_of(number, std::move(blocks));
  };
  for (std::int64_t number = 0; number < 3; ++number)
    EXPECT_TRUE(check.check(written(number, values)).empty()) << number;
  EXPECT_FALSE(check.check(written(3, others)).empty());
}

}  // namespace
}  // namespace leat::server

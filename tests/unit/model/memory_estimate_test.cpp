// SPDX-License-Identifier: Apache-2.0
#include "lib/model/checks.hpp"

#include <gtest/gtest.h>

#include <string>

#include "lib/model/expression_parser.hpp"
#include "tests/unit/model/parameters_of_tests.hpp"

namespace leat::model {
namespace {

constexpr std::uint64_t kHeader = 192;

std::uint64_t with_header(std::uint64_t bytes) {
  return bytes > UINT64_MAX - kHeader ? 0 : bytes + kHeader;
}

MemoryEstimate estimate_of(const Model& model, std::int64_t ranks,
                           const std::vector<std::optional<std::int64_t>>& overrides = {}) {
  return estimate_memory(model, ranks, with_header, overrides);
}

Model grid_of(std::int64_t nx) {
  Model model;
  model.parameters = {integer("nx", nx)};
  Layout layout;
  Dimension dimension;
  dimension.extent.program = parse_expression("nx*2", model.parameters).program;
  layout.dimensions = {dimension};
  model.layouts = {layout};
  model.stores.resize(1);
  model.variables.resize(2);
  for (Variable& each : model.variables) each.stores = {0};
  model.architecture.buffer_bytes = 1 << 20;
  return model;
}

TEST(MemoryEstimate, CountsOneBlockOfEachVariablePerRankAndItsHeader) {
  const MemoryEstimate estimate = estimate_of(grid_of(100), 4);
  EXPECT_EQ(estimate.known_bytes_per_rank, 2u * (200 * 8 + kHeader));
  EXPECT_EQ(estimate.known_bytes_per_node, 4u * 2 * (200 * 8 + kHeader));
}

TEST(MemoryEstimate, KnowsNothingOfWhatTheSimulationSetsLater) {
  Model model = grid_of(100);
  model.parameters[0].value = {};
  EXPECT_FALSE(estimate_of(model, 1).variables[0].bytes_per_rank);
  EXPECT_EQ(estimate_of(model, 1, {50}).variables[0].bytes_per_rank, 800u);
}

TEST(MemoryEstimate, CallsANegativeExtentImpossible) {
  EXPECT_TRUE(estimate_of(grid_of(-1), 1).variables[0].impossible);
}

TEST(MemoryEstimate, IsOfTheKnownOnlyAndSaysWhatIsUnknown) {
  Model model = grid_of(100);
  model.layouts.push_back(model.layouts[0]);
  model.layouts[1].dimensions[0].varying = true;
  model.layouts[1].dimensions[0].name = "atoms_0";
  model.variables[1].layout = 1;
  const MemoryEstimate estimate = estimate_of(model, 2);
  EXPECT_EQ(estimate.known_bytes_per_rank, 200u * 8 + kHeader);
  EXPECT_EQ(estimate.variables[1].why_unknown, "atoms_0 is set in the run");
  EXPECT_FALSE(estimate.variables[1].impossible);
}

TEST(MemoryEstimate, CountsNothingThatNoStoreTakes) {
  Model model = grid_of(100);
  model.variables[1].stores.clear();
  const MemoryEstimate estimate = estimate_of(model, 1);
  EXPECT_EQ(estimate.known_bytes_per_rank, 200u * 8 + kHeader);
  EXPECT_FALSE(estimate.variables[1].taken);
  EXPECT_EQ(estimate.variables[1].bytes_per_rank, 200u * 8);
}

TEST(MemoryEstimate, KnowsTheDataOfAVariableWithoutTheirHeaders) {
  const MemoryEstimate estimate = estimate_of(grid_of(100), 4);
  EXPECT_EQ(estimate.variables[0].bytes_per_rank, 200u * 8);
  EXPECT_EQ(estimate.variables[0].segment_bytes_per_rank, 200u * 8 + kHeader);
}

TEST(MemoryEstimate, CountsAsManyBlocksAsTheLayoutSays) {
  Model model = grid_of(100);
  model.layouts[0].blocks = 500;
  EXPECT_EQ(estimate_of(model, 4).known_bytes_per_node, 4u * 2 * 500 * (200 * 8 + kHeader));
  model.layouts[0].blocks = INT64_MAX;
  EXPECT_TRUE(estimate_of(model, 4).variables[0].impossible);
}

TEST(MemoryEstimate, CountsAScalarAsOneElement) {
  Model model = grid_of(1);
  model.layouts[0].dimensions.clear();
  EXPECT_EQ(estimate_of(model, 1).known_bytes_per_rank, 2u * (8 + kHeader));
}

TEST(MemoryEstimate, CallsMoreThan64BitsImpossibleUnlessADimensionIsEmpty) {
  Model model = grid_of(INT64_MAX / 2);
  EXPECT_TRUE(estimate_of(model, 1).variables[0].impossible);
  model.layouts[0].dimensions.push_back(model.layouts[0].dimensions[0]);
  model.layouts[0].dimensions[1].extent.program = parse_expression("0", {}).program;
  EXPECT_EQ(estimate_of(model, 1).variables[0].bytes_per_rank, 0u);
}

TEST(MemoryEstimate, DoesNotWrapAroundOnAWholeNode) {
  const MemoryEstimate estimate = estimate_of(grid_of(std::int64_t{1} << 57), 1024);
  EXPECT_EQ(estimate.known_bytes_per_node, UINT64_MAX);
}

}  // namespace
}  // namespace leat::model

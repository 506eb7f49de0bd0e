// SPDX-License-Identifier: Apache-2.0
// What the cases in tests/config do not show: values, not messages.
#include <gtest/gtest.h>

#include <string>

#include "lib/model/expression_parser.hpp"
#include "lib/model/memory_estimate.hpp"
#include "lib/model/units.hpp"

namespace leat::model {
namespace {

Parameter integer(const std::string& name, std::int64_t value) {
  Parameter parameter;
  parameter.name = name;
  parameter.integer = value;
  parameter.has_value = true;
  return parameter;
}

std::int64_t value_of(const std::string& text) {
  const std::vector<Parameter> parameters = {integer("nx", 10), integer("px", 4)};
  const ParsedExpression parsed = parse_expression(text, parameters);
  EXPECT_EQ(parsed.problem, "") << text;
  const std::int64_t values[] = {10, 4};
  const std::uint8_t set[] = {1, 1};
  return evaluate(parsed.program.data(), parsed.program.size(), {values, set, 2}).value;
}

TEST(ExpressionParser, BindsAsArithmeticDoes) {
  EXPECT_EQ(value_of("2+3*4"), 14);
  EXPECT_EQ(value_of("(2+3)*4"), 20);
  EXPECT_EQ(value_of("20-5-5"), 10);
  EXPECT_EQ(value_of("100/5/2"), 10);
  EXPECT_EQ(value_of("nx/px+2"), 4);
  EXPECT_EQ(value_of(" - nx % px * -1"), 2);
}

TEST(ExpressionParser, SaysWhereTheProblemIs) {
  const std::vector<Parameter> parameters = {integer("nx", 10)};
  for (const auto& [text, column] :
       {std::pair{"nx+", 4}, {"nx nx", 4}, {"(nx", 1}, {"mx", 1}, {"2*$", 3}, {"", 1}}) {
    const ParsedExpression parsed = parse_expression(text, parameters);
    EXPECT_NE(parsed.problem, "") << text;
    EXPECT_EQ(parsed.column, static_cast<std::size_t>(column)) << text << ": " << parsed.problem;
    EXPECT_TRUE(parsed.program.empty());
  }
}

TEST(ExpressionParser, SurvivesHostileText) {
  for (const std::string& text : {std::string(100000, '('), std::string(100000, '-'),
                                  "1" + std::string(100000, '+'), std::string(100000, '9')}) {
    EXPECT_NE(parse_expression(text, {}).problem, "");
  }
}

TEST(Units, AreThoseOfThePage) {
  EXPECT_EQ(parse_size("512MiB"), 512ull << 20);
  EXPECT_EQ(parse_size("2 KB"), 2000u);
  EXPECT_EQ(parse_size("512"), std::nullopt);
  EXPECT_EQ(parse_size("-1MiB"), std::nullopt);
  EXPECT_EQ(parse_size("99999999999GiB"), std::nullopt);
  EXPECT_EQ(parse_duration("1.5min"), 90.0);
  EXPECT_EQ(parse_duration("250ms"), 0.25);
  EXPECT_EQ(parse_duration("5"), std::nullopt);
}

Model grid_of(std::int64_t nx) {
  Model model;
  model.parameters = {integer("nx", nx)};
  Layout layout;
  Dimension dimension;
  dimension.extent.program = parse_expression("nx*2", model.parameters).program;
  layout.dimensions = {dimension};
  model.layouts = {layout};
  model.variables.resize(2);
  model.architecture.buffer_bytes = 1 << 20;
  return model;
}

TEST(MemoryEstimate, CountsOneBlockOfEachVariablePerRank) {
  const MemoryEstimate estimate = estimate_memory(grid_of(100), 4);
  EXPECT_EQ(estimate.known_bytes_per_rank, 2u * 200 * 8);
  EXPECT_EQ(estimate.known_bytes_per_node, 4u * 2 * 200 * 8);
}

TEST(MemoryEstimate, KnowsNothingOfWhatTheSimulationSetsLater) {
  Model model = grid_of(100);
  model.parameters[0].has_value = false;
  EXPECT_FALSE(estimate_memory(model, 1).variables[0].bytes_per_rank);
  EXPECT_EQ(estimate_memory(model, 1, {50}).variables[0].bytes_per_rank, 800u);
}

TEST(MemoryEstimate, CallsANegativeExtentImpossible) {
  EXPECT_TRUE(estimate_memory(grid_of(-1), 1).variables[0].impossible);
}

}  // namespace
}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
#include "lib/model/expression_parser.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/model/parameters_of_tests.hpp"

namespace leat::model {
namespace {

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
  EXPECT_EQ(value_of("--nx"), 10);
  EXPECT_EQ(value_of("-(nx-px)"), -6);
  EXPECT_EQ(value_of("\tnx \t"), 10);
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

// An expression and the value that it was made to have, nested at most `depth` deep.
struct Made {
  std::string text;
  std::int64_t value;
};

Made make(std::mt19937& random, int depth) {
  if (depth == 0) {
    const std::int64_t number = random() % 100;
    return random() % 4 == 0 ? Made{"nx", 10} : Made{std::to_string(number), number};
  }
  const Made a = make(random, depth - 1), b = make(random, depth - 1);
  const auto with = [&](char op, std::int64_t value) {
    return Made{"(" + a.text + ")" + op + " (" + b.text + ")", value};
  };
  switch (random() % 5) {
    case 0:
      return with('+', a.value + b.value);
    case 1:
      return with('-', a.value - b.value);
    case 2:
      if (std::abs(a.value) < 1000000 && std::abs(b.value) < 1000000) {
        return with('*', a.value * b.value);
      }
      return {"-(" + a.text + ")", -a.value};
    case 3:
      return b.value == 0 ? a : with('/', a.value / b.value);
    default:
      return b.value == 0 ? a : with('%', a.value % b.value);
  }
}

TEST(ExpressionParser, ComputesWhatACompilerWould) {
  std::mt19937 random(42);
  for (int i = 0; i < 2000; ++i) {
    const Made made = make(random, i % 5);
    EXPECT_EQ(value_of(made.text), made.value) << made.text;
  }
}

TEST(ExpressionParser, MakesAProgramThatRunsOrSaysAProblem) {
  const std::vector<Parameter> parameters = {integer("nx", 10), integer("px", 4)};
  const std::int64_t values[] = {10, 4};
  const std::uint8_t set[] = {1, 1};
  const std::string letters = "nxp019 +-*/%()()..,?\t\x80#";
  std::mt19937 random(7);
  int good = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = letters[random() % letters.size()];
    const ParsedExpression parsed = parse_expression(text, parameters);
    ASSERT_NE(parsed.program.empty(), parsed.problem.empty()) << text;
    good += parsed.problem.empty();
    if (!parsed.problem.empty()) {
      ASSERT_GE(parsed.column, 1u) << text;
      ASSERT_LE(parsed.column, text.size() + 1) << text;
      continue;
    }
    const auto value = evaluate(parsed.program.data(), parsed.program.size(), {values, set, 2});
    ASSERT_NE(value.fault, ExpressionFault::malformed) << text;
  }
  EXPECT_GT(good, 100);
}

TEST(ExpressionParser, QuotesOnlyTheBeginningOfALongText) {
  const std::string text = std::string(200, '1') + "x";
  EXPECT_LT(problem_text(parse_expression(text, {}), text).size(), 160u);
}

}  // namespace
}  // namespace leat::model

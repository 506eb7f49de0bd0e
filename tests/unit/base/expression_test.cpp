// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "lib/base/expression.hpp"

namespace leat {
namespace {

using Op = ExpressionOp;

Op constant(std::int64_t value) { return {Op::constant, 0, value}; }
Op parameter(std::uint32_t index) { return {Op::parameter, index, 0}; }
Op op(Op::Kind kind) { return {kind, 0, 0}; }

ExpressionValue value_of(const std::vector<Op>& program) {
  static const std::int64_t values[] = {7, 0};
  static const std::uint8_t set[] = {1, 0};
  return evaluate(program.data(), program.size(), {values, set, 2});
}

TEST(Expression, ComputesInPostfixOrder) {
  EXPECT_EQ(value_of({parameter(0), constant(2), op(Op::divide), constant(2), op(Op::add)}).value,
            5);
  EXPECT_EQ(value_of({constant(7), constant(3), op(Op::modulo)}).value, 1);
  EXPECT_EQ(value_of({constant(7), constant(3), op(Op::subtract), op(Op::negate)}).value, -4);
}

TEST(Expression, DividesTowardsZeroAsCDoes) {
  EXPECT_EQ(value_of({constant(-7), constant(2), op(Op::divide)}).value, -3);
  EXPECT_EQ(value_of({constant(-7), constant(2), op(Op::modulo)}).value, -1);
}

TEST(Expression, SaysWhichParameterHasNoValue) {
  const ExpressionValue value = value_of({constant(1), parameter(1), op(Op::add)});
  EXPECT_EQ(value.fault, ExpressionFault::unset_parameter);
  EXPECT_EQ(value.index, 1u);
}

TEST(Expression, FindsEveryOverflow) {
  const std::vector<std::vector<Op>> programs = {
      {constant(INT64_MAX), constant(1), op(Op::add)},
      {constant(INT64_MIN), constant(1), op(Op::subtract)},
      {constant(INT64_MAX), constant(2), op(Op::multiply)},
      {constant(INT64_MIN), constant(-1), op(Op::divide)},
      {constant(INT64_MIN), constant(-1), op(Op::modulo)},
      {constant(INT64_MIN), op(Op::negate)}};
  for (const auto& program : programs) {
    EXPECT_EQ(value_of(program).fault, ExpressionFault::overflow);
  }
}

TEST(Expression, FindsDivisionByZero) {
  EXPECT_EQ(value_of({constant(1), constant(0), op(Op::divide)}).fault,
            ExpressionFault::division_by_zero);
  EXPECT_EQ(value_of({constant(1), constant(0), op(Op::modulo)}).fault,
            ExpressionFault::division_by_zero);
}

TEST(Expression, ReachesTheEndsOfItsRangeWithoutOverflow) {
  EXPECT_EQ(value_of({constant(INT64_MAX), op(Op::negate), constant(1), op(Op::subtract)}).value,
            INT64_MIN);
  EXPECT_EQ(value_of({constant(INT64_MIN), constant(1), op(Op::divide)}).value, INT64_MIN);
  EXPECT_EQ(value_of({constant(INT64_MIN), constant(INT64_MAX), op(Op::modulo)}).value, -1);
}

TEST(Expression, HasRoomForTheDepthThatTheParserAllows) {
  std::vector<Op> program(kMaxExpressionDepth, constant(1));
  program.insert(program.end(), kMaxExpressionDepth - 1, op(Op::add));
  EXPECT_EQ(value_of(program).value, static_cast<std::int64_t>(kMaxExpressionDepth));
}

TEST(Expression, SaysEachFaultInWords) {
  for (const auto fault :
       {ExpressionFault::none, ExpressionFault::unset_parameter, ExpressionFault::division_by_zero,
        ExpressionFault::overflow, ExpressionFault::malformed}) {
    EXPECT_STRNE(fault_text(fault), fault_text(static_cast<ExpressionFault>(99)));
  }
}

TEST(Expression, RefusesWhatIsNoProgram) {
  EXPECT_EQ(value_of({}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of({op(Op::add)}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of({constant(1), constant(2)}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of({parameter(9)}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of({{99, 0, 0}}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of(std::vector<Op>(kMaxExpressionDepth + 1, constant(1))).fault,
            ExpressionFault::malformed);
}

}  // namespace
}  // namespace leat

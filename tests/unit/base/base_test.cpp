// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/expression.hpp"
#include "lib/base/scalar.hpp"
#include "lib/base/status.hpp"
#include "lib/base/suggest.hpp"

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

TEST(Expression, RefusesWhatIsNoProgram) {
  EXPECT_EQ(value_of({}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of({op(Op::add)}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of({constant(1), constant(2)}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of({parameter(9)}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of({{99, 0, 0}}).fault, ExpressionFault::malformed);
  EXPECT_EQ(value_of(std::vector<Op>(kMaxExpressionDepth + 1, constant(1))).fault,
            ExpressionFault::malformed);
}

TEST(Suggest, TakesTheNearestNameAndNoneThatIsFar) {
  const std::vector<std::string> names = {"temperature", "pressure", "velocity"};
  EXPECT_EQ(nearest_name("temprature", names), "temperature");
  EXPECT_EQ(nearest_name("Pressure", names), "pressure");
  EXPECT_EQ(nearest_name("zzz", names), "");
  EXPECT_EQ(nearest_name("anything", {}), "");
}

TEST(Suggest, KnowsLongAndShortFormsAndOtherCase) {
  const std::vector<std::string> levels = {"debug", "info", "warning", "error"};
  EXPECT_EQ(nearest_name("warn", levels), "warning");
  EXPECT_EQ(nearest_name("HDF5", {"hdf5", "trace"}), "hdf5");
  EXPECT_EQ(nearest_name("integer", {"int", "double"}), "int");
  EXPECT_EQ(nearest_name("temp", {"temperature", "temporal"}), "") << "two could be meant";
  EXPECT_EQ(nearest_name("wa", levels), "") << "too short to say anything";
}

TEST(Suggest, ListsTheNamesWhenNoneIsNear) {
  EXPECT_EQ(did_you_mean("zzz", {"p", "q"}), "; there are: \"p\", \"q\"");
  EXPECT_EQ(did_you_mean("vell", {"vel"}), "; did you mean \"vel\"?");
  EXPECT_EQ(did_you_mean("x", {}), "");
  const std::vector<std::string> many(20, "name");
  EXPECT_TRUE(did_you_mean("zzz", many).ends_with("\"name\", ..."));
}

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Status, EachCodeHasANameAndAMeaning) {
  EXPECT_STREQ(status_name(Status::ERROR_FULL), "ERROR_FULL");
  EXPECT_STREQ(status_name(static_cast<Status>(4711)), "UNKNOWN");
  EXPECT_GT(std::string(status_meaning(Status::ERROR_LOST)).size(), 10u);
}

TEST(Scalar, KnowsTheBytesOfEachType) {
  EXPECT_EQ(scalar_bytes(ScalarType::int8), 1u);
  EXPECT_EQ(scalar_bytes(ScalarType::float64), 8u);
  EXPECT_EQ(scalar_bytes(ScalarType::complex128), 16u);
}

}  // namespace
}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
// What a client makes of the XML: names, shapes, and what is wrong with them.
#include "tests/unit/client/variables_of_example.hpp"

namespace leat::client {
namespace {

TEST_F(Variables, AreFoundByNameAndUnknownOnesGetTheNearest) {
  EXPECT_EQ(table_->name(temperature_), "temperature");
  EXPECT_EQ(table_->find("temprature"), -1);
  EXPECT_EQ(table_->unknown_variable("temprature").message,
            "heat.xml declares no variable \"temprature\"; did you mean \"temperature\"?");
  const ParameterTable parameters(shm::Catalogue(*segment_), "heat.xml");
  EXPECT_EQ(parameters.find("nz"), -1);
  EXPECT_EQ(parameters.unknown("nz").message,
            "heat.xml declares no parameter \"nz\"; did you mean \"nx\"?");
}

TEST_F(Variables, AreWantedWhenAStoreTakesTheIteration) {
  BlockState& state = table_->block(temperature_, 0);
  EXPECT_TRUE(table_->wanted(temperature_, state, 0));
  EXPECT_FALSE(table_->wanted(temperature_, state, 4));
  EXPECT_TRUE(table_->wanted(temperature_, state, 5));
  EXPECT_FALSE(table_->wanted(static_cast<std::uint32_t>(table_->find("nobody")), state, 0));
}

TEST_F(Variables, NeedTheParametersOfTheirLayout) {
  EXPECT_EQ(shape(temperature_), nullptr);
  expect_error(Status::ERROR_SHAPE, "leat_set_int(\"py\", ...)");
  set("py", 0);
  EXPECT_EQ(shape(temperature_), nullptr);
  expect_error(Status::ERROR_SHAPE, "division by zero");
}

TEST_F(Variables, HaveTheShapeOfTheirExpressions) {
  set("py", 1);
  const BlockShape* whole = shape(temperature_);
  ASSERT_NE(whole, nullptr) << error_.message;
  EXPECT_EQ(whole->extent[0], 10);
  EXPECT_EQ(whole->bytes, 10u * 8 * 8);
}

TEST_F(Variables, ThatArePartOfAWholeNeedAPlaceInsideOfIt) {
  set("py", 2);
  EXPECT_EQ(shape(temperature_), nullptr);
  expect_error(Status::ERROR_SHAPE, "call leat_set_position");
  BlockState& state = table_->block(temperature_, 0);
  const std::int64_t outside[] = {5, 0}, inside[] = {4, 0};
  ASSERT_TRUE(table_->set_position(temperature_, state, outside));
  EXPECT_EQ(shape(temperature_), nullptr);
  expect_error(Status::ERROR_SHAPE, "at position (5, 0) does not lie inside");
  ASSERT_TRUE(table_->set_position(temperature_, state, inside));
  ASSERT_NE(shape(temperature_), nullptr) << error_.message;
  EXPECT_EQ(shape(temperature_)->place, shm::Place::in_global);
}

TEST_F(Variables, KeepTheParametersThatShapedWhatWasWritten) {
  set("py", 1);
  table_->mark_written(temperature_);
  set("py", 1);
  EXPECT_EQ(error_.status, Status::OK) << "the same value is no change";
  set("py", 2);
  expect_error(Status::ERROR_STATE, "before the first write");
}

TEST_F(Variables, OfVaryingExtentNeedItForEachBlock) {
  EXPECT_EQ(shape(x_), nullptr);
  expect_error(Status::ERROR_SHAPE, "call leat_set_extent");
  const std::int64_t five[] = {5, 3}, none[] = {0, 3}, wrong[] = {5, 4}, negative[] = {-1, 3};
  ASSERT_TRUE(table_->set_extent(x_, table_->block(x_, 0), five));
  ASSERT_TRUE(table_->set_extent(x_, table_->block(x_, 7), none));
  EXPECT_EQ(shape(x_)->bytes, 5u * 3 * 8);
  EXPECT_EQ(shape(x_, 7)->bytes, 0u);
  ASSERT_TRUE(table_->set_extent(x_, table_->block(x_, 0), wrong));
  EXPECT_EQ(shape(x_), nullptr);
  expect_error(Status::ERROR_SHAPE, "only \"?\" dimensions may differ");
  const Result<void> refused = table_->set_extent(x_, table_->block(x_, 7), negative);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::ERROR_ARGUMENT);
  EXPECT_NE(refused.error().message.find("(-1, 3), but dimension 0 cannot be negative"),
            std::string::npos);
  EXPECT_EQ(shape(x_, 7)->bytes, 0u) << "the extent from before stays";
}

TEST_F(Variables, OnAnAmrMeshNeedALevelForEachBlock) {
  const auto rho = static_cast<std::uint32_t>(table_->find("rho"));
  EXPECT_EQ(shape(rho), nullptr);
  expect_error(Status::ERROR_SHAPE, "lies on the amr mesh \"gas\": call leat_set_level(\"gas\"");
  const std::int64_t there[] = {3, 4};
  const Result<void> placed = table_->set_position(rho, table_->block(rho, 0), there);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().status, Status::ERROR_STATE);
  EXPECT_EQ(shape(rho), nullptr) << "a position says no level";

  table_->set_level(rho, 5, 2, {16, -8});
  EXPECT_EQ(shape(rho, 0), nullptr) << "it is another block's";
  const BlockShape* found = shape(rho, 5);
  ASSERT_NE(found, nullptr) << error_.message;
  shm::BlockHeader header{};
  found->write_to(&header);
  EXPECT_EQ(header.place, static_cast<std::uint16_t>(shm::Place::in_level));
  EXPECT_EQ(header.level, 2);
  EXPECT_EQ(header.position[0], 16);
  EXPECT_EQ(header.position[1], -8);
  table_->set_level(rho, 5, 0, {16, -8});
  EXPECT_EQ(shape(rho, 5)->level, 0) << "the last one counts";
}

TEST_F(Variables, OfMoreBytesThan64BitsAreRefused) {
  const std::int64_t huge[] = {INT64_MAX / 2, 3};
  ASSERT_TRUE(table_->set_extent(x_, table_->block(x_, 0), huge));
  EXPECT_EQ(shape(x_), nullptr);
  expect_error(Status::ERROR_TOO_LARGE, "more bytes than 64 bits");
}

}  // namespace
}  // namespace leat::client

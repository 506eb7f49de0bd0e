// SPDX-License-Identifier: Apache-2.0
// What a client says of a block of an amr mesh is not believed.
#include "server/state/clients/block_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "lib/model/expression_parser.hpp"

namespace leat::server {
namespace {

class BlockReaderOfLevels : public testing::Test {
 protected:
  void SetUp() override {
    model::Dimension eight;
    eight.extent = {"8", model::parse_expression("8", {}).program};
    model_.layouts.resize(1);
    model_.layouts[0].dimensions = {eight, eight};
    model_.meshes.resize(1);
    model_.meshes[0].name = "gas";
    model_.meshes[0].kind = model::Mesh::Kind::amr;
    model_.meshes[0].levels = 3;
    model_.variables.resize(2);
    model_.variables[0].mesh = 0;
    shm::SegmentPlan plan;
    plan.data_bytes = 1 << 20;
    Result<shm::Segment> segment = shm::Segment::create(name_, plan);
    shm::Segment::remove(name_);
    ASSERT_TRUE(segment) << segment.error().message;
    segment_.emplace(std::move(*segment));
    header_.dims = 2;
    header_.place = static_cast<std::uint16_t>(shm::Place::in_level);
    header_.level = 2;
    header_.data_bytes = 8 * 8 * 8;
    header_.extent[0] = header_.extent[1] = 8;
    header_.position[0] = -16;
    header_.position[1] = 24;
  }

  std::optional<Block> read() {
    shm::Event event{};
    event.subject = header_.variable;
    event.offset = segment_->header().data_offset;
    event.bytes = sizeof header_ + header_.data_bytes;
    *segment_->at<shm::BlockHeader>(event.offset) = header_;
    error_.clear();
    return BlockReader(*segment_, 0, model_).read(event, 0, &error_);
  }
  void expect_refused(const char* why) {
    EXPECT_FALSE(read());
    EXPECT_NE(error_.find(why), std::string::npos) << error_;
  }

  const std::string name_ = "leat-test-block-reader-" + std::to_string(getpid());
  model::Model model_;
  std::optional<shm::Segment> segment_;
  shm::BlockHeader header_{};
  std::string error_;
};

TEST_F(BlockReaderOfLevels, TakesALevelAndAPlaceInIt) {
  const std::optional<Block> block = read();
  ASSERT_TRUE(block) << error_;
  EXPECT_EQ(block->level, 2);
  EXPECT_FALSE(block->has_position);
  EXPECT_EQ(block->position[0], -16);
  EXPECT_EQ(block->position[1], 24);
}

TEST_F(BlockReaderOfLevels, RefusesABlockWithoutOne) {
  for (const std::uint16_t place : {0, 1, 3, 65535}) {
    header_.place = place;
    expect_refused("no level of its mesh \"gas\"");
  }
}

TEST_F(BlockReaderOfLevels, RefusesALevelThatTheMeshDoesNotHave) {
  header_.level = 3;
  expect_refused("level 3 is beyond");
  model_.meshes[0].levels = 0;
  EXPECT_TRUE(read()) << "how many there are is not known";
  header_.level = kMaxLevels;
  expect_refused("level 64 is beyond");
}

TEST_F(BlockReaderOfLevels, RefusesAPlaceWhoseSumsWouldOverflow) {
  for (const std::int64_t far : {INT64_MAX, INT64_MIN, shm::kFurthest + 1}) {
    header_.position[1] = far;
    expect_refused("its position in dimension 1 is ");
  }
}

TEST_F(BlockReaderOfLevels, GivesNoLevelToBlocksOfOtherMeshes) {
  header_.variable = 1;
  const std::optional<Block> block = read();
  ASSERT_TRUE(block) << error_;
  EXPECT_FALSE(block->level);
}

}  // namespace
}  // namespace leat::server

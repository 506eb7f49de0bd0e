// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/coverage/array_checks.hpp"

#include <gtest/gtest.h>

#include "lib/os/crc32c.hpp"

namespace leat::server {
namespace {

Block block_of(const std::string& data, std::uint32_t number) {
  Block block;
  block.client = 1;
  block.rank = 5;
  block.variable = 2;
  block.block = number;
  block.data = data.data();
  block.bytes = data.size();
  block.checksum = os::crc32c(data.data(), data.size());
  return block;
}

class Checksums : public testing::Test {
 protected:
  std::string a_ = "123456789", b_ = "abc", empty_;
  Iteration iteration_{7, true, {block_of(a_, 0), block_of(b_, 1), block_of(empty_, 2)}, {}, {}};
};

TEST_F(Checksums, BlocksAsTheyWereHandedOverStay) {
  EXPECT_TRUE(take_out_changed(&iteration_).empty());
  EXPECT_EQ(iteration_.blocks.size(), 3u);
  EXPECT_TRUE(iteration_.complete);
}

TEST_F(Checksums, AChangedBlockIsTakenOutAndNamedWithBothSums) {
  a_[8] = '8';
  const std::vector<BlockProblem> problems = take_out_changed(&iteration_);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].client, 1u);
  EXPECT_EQ(problems[0].rank, 5);
  EXPECT_EQ(problems[0].variable, 2u);
  EXPECT_EQ(problems[0].block, 0u);
  EXPECT_NE(problems[0].what.find("e3069283"), std::string::npos) << problems[0].what;
  EXPECT_NE(problems[0].what.find("116d1180"), std::string::npos) << problems[0].what;
  EXPECT_FALSE(iteration_.complete);
  ASSERT_EQ(iteration_.blocks.size(), 2u);
  EXPECT_EQ(iteration_.blocks[0].block, 1u);
  EXPECT_EQ(iteration_.blocks[1].block, 2u);
}

TEST_F(Checksums, BlocksWithoutOneAreNotLookedAt) {
  iteration_.blocks[0].checksum.reset();
  a_[0] = 'x';
  EXPECT_TRUE(changed_blocks(iteration_).empty());
}

TEST_F(Checksums, AStoredBlockIsNamedWithItsStores) {
  b_[1] = 'x';
  const std::vector<ChangedBlock> changed = changed_blocks(iteration_);
  ASSERT_EQ(changed.size(), 1u);
  const std::string what = changed_while_stored(changed[0], {"out", "mine"}).what;
  EXPECT_NE(what.find("block 1 is stored (out, mine), but its bytes changed"), std::string::npos)
      << what;
}

}  // namespace
}  // namespace leat::server

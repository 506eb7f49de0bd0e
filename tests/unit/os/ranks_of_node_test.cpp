// SPDX-License-Identifier: Apache-2.0
#include "lib/node/placement.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tests/unit/os/cpus.hpp"
#include "tests/unit/os/temporary_folder.hpp"

namespace leat::os {
using namespace node;
namespace {

class ToldRanks : public TemporaryFolder {
 protected:
  std::unique_ptr<RanksOfNode> server(int number) {
    return std::make_unique<RanksOfNode>(path_, 3, number, 2);
  }
  const std::string path_ = base_ + "/run.ranks";
  const std::vector<CpuSet> first_{cpus({0}), cpus({1})}, second_{cpus({2})};
};

TEST_F(ToldRanks, AreKnownToEachServerWhenAllHaveTold) {
  const auto a = server(0);
  a->note(first_);
  EXPECT_FALSE(a->known(first_).all);
  const auto b = server(1);
  EXPECT_FALSE(a->known(first_).all) << "it is there, and has told nothing yet";
  b->note(second_);
  const std::vector<CpuSet> all{cpus({0}), cpus({1}), cpus({2})};
  EXPECT_TRUE(a->known(first_).all);
  EXPECT_EQ(a->known(first_).ranks, all);
  EXPECT_EQ(b->known(second_).ranks, all);
}

TEST_F(ToldRanks, OfADeadServerOrOfAnEarlierRunAreForgotten) {
  auto a = server(0);
  auto b = server(1);
  a->note(first_);
  b->note(second_);
  b.reset();
  EXPECT_FALSE(a->known(first_).all);
  b = server(1);
  EXPECT_FALSE(a->known(first_).all) << "what the one before it wrote does not count";
}

TEST_F(ToldRanks, LeaveNoFileBehind) {
  auto a = server(0), b = server(1);
  a.reset();
  EXPECT_TRUE(std::filesystem::exists(path_));
  b.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ToldRanks, AreThoseOfOneServerWhereItIsAlone) {
  EXPECT_TRUE(RanksOfNode().known(first_).all);
  EXPECT_EQ(RanksOfNode().known(first_).ranks, first_);
}

}  // namespace
}  // namespace leat::os

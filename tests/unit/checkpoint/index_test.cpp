// SPDX-License-Identifier: Apache-2.0
#include "lib/checkpoint/index.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "lib/checkpoint/checkpoints.hpp"
#include "lib/os/crc32c.hpp"

namespace leat::checkpoint {
namespace {

Index example() {
  Index index;
  index.simulation = "a \t\\name\n";
  index.session = "slurm-17.0";
  index.server = -5;
  index.iteration = 300;
  index.generation = 2;
  index.ranks = 9;
  index.own = {{0, 3}, {7, 7}};
  index.bytes = 4096 + 600000;
  index.parameters = {
      {"t", 0.1}, {"n", std::int64_t{-3}}, {"s", std::string("\t\\\n")}, {"e", std::string()}};
  index.variables = {{"u", ScalarType::float64, {1, 0}, {2, 3}}, {"n", ScalarType::int32, {}, {}}};
  Block u{0,
          3,
          1,
          4096,
          600000,
          {250, 300},
          Block::Place::in_global,
          0,
          {0, 9},
          {1000, 300},
          {1, 0xffffffff, 3}};
  Block level{0, 7, 0, 0, 0, {0, 300}, Block::Place::in_level, 2, {-4, 9}, {}, {}};
  Block n{1, 3, 0, 0, 4, {}, Block::Place::none, 0, {}, {}, {7}};
  index.blocks = {u, level, n};
  return index;
}

std::string with_sum(std::string body) {
  char end[16];
  std::snprintf(end, sizeof end, "end\t%08x\n", os::crc32c(body.data(), body.size()));
  return body + end;
}

TEST(CheckpointIndex, SaysWhatItWasToldWhateverIsInTheTexts) {
  const Index before = example();
  const Result<Index> after = index_of(to_text(before));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->simulation, before.simulation);
  EXPECT_EQ(after->server, -5);
  EXPECT_EQ(after->own, before.own);
  for (std::size_t i = 0; i < before.parameters.size(); ++i)
    EXPECT_EQ(after->parameters[i].value, before.parameters[i].value) << before.parameters[i].name;
  ASSERT_EQ(after->blocks.size(), 3u);
  EXPECT_EQ(after->blocks[0].sums, before.blocks[0].sums);
  EXPECT_EQ(after->blocks[0].global, before.blocks[0].global);
  EXPECT_EQ(after->blocks[1].level, 2);
  EXPECT_EQ(after->blocks[1].position, before.blocks[1].position);
  EXPECT_EQ(after->blocks[2].place, Block::Place::none);
  EXPECT_EQ(to_text(*after), to_text(before));
}

TEST(CheckpointIndex, TakesTheBlocksOfOneVariable) {
  const std::string text = to_text(example());
  EXPECT_EQ(index_of(text, {.variable = "n"})->blocks.size(), 1u);
  EXPECT_EQ(index_of(text, {.variable = "v"})->blocks.size(), 0u);
  EXPECT_EQ(index_of(text, {.blocks = false})->blocks.size(), 0u);
  EXPECT_EQ(index_of(text, {.blocks = false})->sum, index_of(text)->sum);
}

TEST(CheckpointIndex, IsNoneWhereverItIsCutOff) {
  const std::string text = to_text(example());
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes)
    EXPECT_FALSE(index_of(std::string_view(text).substr(0, bytes))) << bytes;
}

TEST(CheckpointIndex, IsNoneWhicheverByteHasChanged) {
  const std::string text = to_text(example());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(index_of(other)) << i;
  }
}

TEST(CheckpointIndex, WithARightSumButNonsenseIsNone) {
  const std::string whole = to_text(example()), body = whole.substr(0, whole.size() - 13);
  ASSERT_TRUE(index_of(with_sum(body)));
  const auto with = [&body](const std::string& from, const std::string& to) {
    std::string text = body;
    text.replace(text.find(from), from.size(), to);
    return with_sum(text);
  };
  EXPECT_FALSE(index_of(with("block\t0", "block\t2")));
  EXPECT_FALSE(index_of(with("250,300", "-250,-300")));
  EXPECT_FALSE(index_of(with("250,300", "250,301")));
  EXPECT_FALSE(index_of(with("250,300", "250")));
  EXPECT_FALSE(index_of(with("250,300", "4611686018427387904,4611686018427387904")));
  EXPECT_FALSE(index_of(with("00000001,ffffffff,", "")));
  EXPECT_FALSE(index_of(with("iteration\t300", "iteration\tx")));
  EXPECT_FALSE(index_of(with("0-3,7-7", "0,7")));
  EXPECT_FALSE(index_of(with("float64", "float65")));
  EXPECT_FALSE(index_of(with("piece\t262144", "piece\t1")));
  EXPECT_TRUE(index_of(with("piece\t", "news\tof a later Leat\npiece\t")));
}

TEST(CheckpointNames, AreReadBackAndOthersAreNone) {
  const PartName name{{2, 300}, "16-1"};
  EXPECT_EQ(name.stem(), "checkpoint-0000000300.2.16-1");
  const auto found = name_in(name.stem() + kIndexEnding + kUnfinished);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_index && found->is_unfinished);
  EXPECT_EQ(found->name.stem(), name.stem());
  for (const char* const other :
       {"lock", "checkpoint-1.2.0", "checkpoint-1.2..data", "checkpoint-1.0.data",
        "checkpoint--1.2.0.data", "checkpoint-1.2.0.data.old", "run-1.2.0.index"})
    EXPECT_FALSE(name_in(other)) << other;
  const Key first{1, 900}, anew{2, 100};
  EXPECT_LT(first, anew);
}

}  // namespace
}  // namespace leat::checkpoint

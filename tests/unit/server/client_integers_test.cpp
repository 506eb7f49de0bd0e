// SPDX-License-Identifier: Apache-2.0
#include "server/state/clients/block_reader.hpp"

#include <gtest/gtest.h>

namespace leat::server {
namespace {

std::vector<model::Parameter> parameters() {
  std::vector<model::Parameter> two(2);
  two[0].value = std::int64_t{5};
  return two;
}

TEST(ClientIntegers, AreThoseOfTheEventThatABlockCameWith) {
  ClientIntegers integers(parameters());
  EXPECT_TRUE(integers.set({3, 0, 7}));
  EXPECT_TRUE(integers.set({8, 0, 9}));
  EXPECT_TRUE(integers.set({8, 1, 1}));
  EXPECT_EQ(integers.at(2).values[0], 5);
  EXPECT_EQ(integers.at(4).values[0], 7);
  EXPECT_EQ(integers.at(4).set[1], 0);
  EXPECT_EQ(integers.at(9).values[0], 9);
  EXPECT_EQ(integers.now().values[0], 9);
  EXPECT_EQ(integers.at(9).set[1], 1);
}

TEST(ClientIntegers, NewsAreOnlyNewsOnce) {
  ClientIntegers integers(parameters());
  EXPECT_FALSE(integers.set({3, 0, 5}));
  EXPECT_TRUE(integers.set({3, 0, 6}));
  EXPECT_FALSE(integers.set({4, 0, 6}));
  EXPECT_FALSE(integers.set({4, 99, 6})) << "there is no such parameter";
  EXPECT_EQ(integers.changes().size(), 2u);
}

TEST(ClientIntegers, ASuccessorKnowsTheSame) {
  ClientIntegers first(parameters());
  first.set({3, 0, 7});
  first.set({8, 0, 9});
  ClientIntegers next(parameters());
  for (const ClientIntegers::Change& each : first.changes()) next.set(each);
  for (const std::uint64_t event : {1, 3, 4, 8, 9})
    EXPECT_EQ(next.at(event).values[0], first.at(event).values[0]) << event;
}

TEST(ClientIntegers, OldOnesAreForgottenAndTheLastOnesHold) {
  ClientIntegers integers(parameters());
  constexpr std::int64_t kMany = 20'000;
  for (std::int64_t i = 1; i <= kMany; ++i)
    integers.set({static_cast<std::uint64_t>(i), 0, i + 100});
  EXPECT_LT(integers.changes().size(), 5000u);
  EXPECT_EQ(integers.at(kMany).values[0], kMany + 99);
  EXPECT_EQ(integers.at(kMany - 1000).values[0], kMany - 901);
}

}  // namespace
}  // namespace leat::server

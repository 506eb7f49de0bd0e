// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/spsc_ring.hpp"

#include <gtest/gtest.h>

#include <array>

namespace {

using leat::shm::RingConsumer;
using leat::shm::RingProducer;

struct Ring {
  static constexpr std::uint32_t kSize = 4;
  std::array<int, kSize> slots{};
  std::atomic<std::uint64_t> tail{0}, head{0};
  RingProducer<int> producer() { return {slots.data(), kSize, tail, head}; }
  RingConsumer<int> consumer() { return {slots.data(), kSize, tail, head}; }
};

TEST(SpscRing, GivesBackElementsInTheOrderOfPushing) {
  Ring ring;
  auto producer = ring.producer();
  auto consumer = ring.consumer();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(producer.push(i));
  int element = -1;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(consumer.pop(element));
    EXPECT_EQ(element, i);
  }
  EXPECT_FALSE(consumer.pop(element));
}

TEST(SpscRing, IsFullAtItsSizeAndHasRoomOnceTheConsumerHasPublished) {
  Ring ring;
  auto producer = ring.producer();
  auto consumer = ring.consumer();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(producer.push(i));
  EXPECT_TRUE(producer.full());
  EXPECT_FALSE(producer.push(4));
  int element = -1;
  ASSERT_TRUE(consumer.pop(element));
  EXPECT_FALSE(producer.push(4)) << "popped but not published: the slot may still be read";
  EXPECT_TRUE(consumer.publish());
  EXPECT_TRUE(producer.push(4));
}

TEST(SpscRing, ANewConsumerTakesUpWhereTheLastOnePublished) {
  Ring ring;
  auto producer = ring.producer();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(producer.push(i));
  int element = -1;
  {
    auto first = ring.consumer();
    ASSERT_TRUE(first.pop(element));
    first.publish();
    ASSERT_TRUE(first.pop(element));  // dies before it publishes
  }
  auto second = ring.consumer();
  ASSERT_TRUE(second.pop(element));
  EXPECT_EQ(element, 1);
}

TEST(SpscRing, ATailThatMakesNoSenseIsReportedAndNotFollowed) {
  for (const std::uint64_t garbage :
       {std::uint64_t{5}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    Ring ring;
    auto consumer = ring.consumer();
    ring.tail = garbage;
    int element = -1;
    EXPECT_FALSE(consumer.pop(element));
    EXPECT_TRUE(consumer.broken());
  }
}

TEST(SpscRing, AHeadThatMakesNoSenseGivesNoRoom) {
  Ring ring;
  auto producer = ring.producer();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(producer.push(i));
  ring.head = 1000;
  EXPECT_FALSE(producer.push(4));
}

}  // namespace

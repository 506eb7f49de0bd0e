// SPDX-License-Identifier: Apache-2.0
// Producer and consumer at full speed, on rings small enough to be full and empty all the time. Run
// under the thread sanitizer this shows that the rings' memory orders carry the elements.
#include <gtest/gtest.h>

#include <vector>

#include "lib/os/clock.hpp"
#include "lib/shm/layout.hpp"
#include "lib/shm/spsc_ring.hpp"
#include "tests/unit/shm/two_threads.hpp"

namespace leat::shm {
namespace {

constexpr std::uint32_t kRingSlots = 8;

struct Ring {
  std::vector<Event> slots{kRingSlots};
  std::atomic<std::uint64_t> tail{0}, head{0};
  std::atomic<bool> producer_gone{false}, consumer_gone{false};
};

void take_all(Ring& shared, std::uint64_t elements) {
  const SaysItIsGone end(shared.consumer_gone);
  RingConsumer<Event> ring(shared.slots.data(), kRingSlots, shared.tail, shared.head);
  Event event;
  for (std::uint64_t i = 0; i < elements; ++i) {
    ASSERT_TRUE(try_until([&] { return ring.pop(event); }, shared.producer_gone)) << i << " came";
    ring.publish();
    ASSERT_EQ(event.token, i);
    ASSERT_EQ(event.bytes, i * 3);
  }
  EXPECT_FALSE(ring.pop(event)) << "one more than was pushed";
  EXPECT_FALSE(ring.broken());
}

TEST(ShmStress, ARingCarriesEveryElementOnceAndInOrder) {
  constexpr std::uint64_t kElements = 200000;
  Ring shared;
  const std::jthread consumer(take_all, std::ref(shared), kElements);
  const SaysItIsGone end(shared.producer_gone);
  RingProducer<Event> ring(shared.slots.data(), kRingSlots, shared.tail, shared.head);
  Event event{};
  for (std::uint64_t i = 0; i < kElements; ++i) {
    event.token = i;
    event.bytes = i * 3;
    ASSERT_TRUE(try_until([&] { return ring.push(event); }, shared.consumer_gone));
  }
}

struct Bell {
  std::atomic<std::uint32_t> sleeping{0}, rung{0};
};

// Takes elements and sleeps when there are none, as the server does.
void take_asleep(Ring& shared, Bell& bell, std::uint64_t elements) {
  constexpr std::int64_t kTooLong = 20'000'000'000;
  const SaysItIsGone end(shared.consumer_gone);
  RingConsumer<Event> ring(shared.slots.data(), kRingSlots, shared.tail, shared.head);
  Event event;
  for (std::uint64_t taken = 0; taken < elements;) {
    if (ring.pop(event)) {
      ring.publish();
      ++taken;
      continue;
    }
    const std::uint32_t seen = bell.rung.load();
    bell.sleeping.store(1, std::memory_order_seq_cst);
    if (ring.empty()) {
      const os::Deadline overslept = os::Deadline::in_ns(kTooLong);
      os::futex_wait(bell.rung, seen, kTooLong);
      ASSERT_FALSE(overslept.passed())
          << "nobody rang; the ring is " << (ring.empty() ? "empty" : "not empty");
    }
    bell.sleeping.store(0, std::memory_order_relaxed);
  }
}

TEST(ShmStress, ASleeperIsAlwaysWoken) {
  constexpr std::uint64_t kElements = 20000;
  Ring shared;
  Bell bell;
  const std::jthread consumer(take_asleep, std::ref(shared), std::ref(bell), kElements);
  RingProducer<Event> ring(shared.slots.data(), kRingSlots, shared.tail, shared.head);
  for (std::uint64_t i = 0; i < kElements; ++i) {
    ASSERT_TRUE(try_until([&] { return ring.push(Event{}); }, shared.consumer_gone));
    ring.announce();
    if (bell.sleeping.load(std::memory_order_seq_cst)) {
      bell.rung.fetch_add(1);
      os::futex_wake_all(bell.rung);
    }
  }
}

}  // namespace
}  // namespace leat::shm

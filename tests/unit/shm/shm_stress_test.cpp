// SPDX-License-Identifier: Apache-2.0
// Producer and consumer at full speed, on rings small enough to be full and empty all the time. Run
// under the thread sanitizer this shows that the rings' memory orders carry the elements and the
// blocks they name.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "lib/platform/futex.hpp"
#include "lib/shm/extent_arena.hpp"
#include "lib/shm/lease_pool.hpp"
#include "lib/shm/spsc_ring.hpp"

namespace {

using namespace leat::shm;

constexpr std::uint32_t kSlots = 8;
constexpr std::uint64_t kElements = 200000;

TEST(ShmStress, ARingCarriesEveryElementOnceAndInOrder) {
  std::vector<Event> slots(kSlots);
  std::atomic<std::uint64_t> tail{0}, head{0};
  std::thread consumer([&] {
    RingConsumer<Event> ring(slots.data(), kSlots, tail, head);
    Event event;
    for (std::uint64_t i = 0; i < kElements;) {
      if (!ring.pop(event)) {
        std::this_thread::yield();
        continue;
      }
      ring.publish();
      ASSERT_EQ(event.token, i);
      ASSERT_EQ(event.bytes, i * 3);
      ++i;
    }
    EXPECT_FALSE(ring.broken());
  });
  RingProducer<Event> ring(slots.data(), kSlots, tail, head);
  Event event{};
  for (std::uint64_t i = 0; i < kElements;) {
    event.token = i;
    event.bytes = i * 3;
    if (ring.push(event)) {
      ++i;
    } else {
      std::this_thread::yield();
    }
  }
  consumer.join();
}

TEST(ShmStress, ASleeperIsAlwaysWoken) {
  std::vector<Event> slots(kSlots);
  std::atomic<std::uint64_t> tail{0}, head{0};
  std::atomic<std::uint32_t> sleeping{0}, bell{0};
  std::atomic<bool> overslept{false};
  constexpr std::uint64_t kRounds = 20000;
  std::thread consumer([&] {
    RingConsumer<Event> ring(slots.data(), kSlots, tail, head);
    Event event;
    for (std::uint64_t taken = 0; taken < kRounds;) {
      if (ring.pop(event)) {
        ring.publish();
        ++taken;
        continue;
      }
      const std::uint32_t seen = bell.load();
      sleeping.store(1, std::memory_order_seq_cst);
      if (ring.empty()) {
        const std::int64_t limit = 5'000'000'000;
        leat::platform::futex_wait(bell, seen, limit);
        if (bell.load() == seen && !ring.empty()) overslept = true;
      }
      sleeping.store(0, std::memory_order_relaxed);
    }
  });
  RingProducer<Event> ring(slots.data(), kSlots, tail, head);
  for (std::uint64_t i = 0; i < kRounds;) {
    if (!ring.push(Event{})) {
      std::this_thread::yield();
      continue;
    }
    ++i;
    if (sleeping.load(std::memory_order_seq_cst)) {
      bell.fetch_add(1);
      leat::platform::futex_wake_all(bell);
    }
  }
  consumer.join();
  EXPECT_FALSE(overslept);
}

// A client that cuts blocks from leased extents and a server that frees them, over real memory:
// every block's bytes must be what the client wrote, so no extent may be leased again while a block
// in it is read.
TEST(ShmStress, MemoryIsNeverLeasedAgainWhileABlockInItIsRead) {
  constexpr std::uint64_t kUnit = 4096, kCommon = 4 * kUnit, kBytes = 64 * kUnit;
  constexpr std::uint64_t kBlocks = 40000, kBase = 1 << 20;
  std::vector<char> memory(kBytes);
  std::vector<Event> event_slots(kSlots);
  std::vector<Release> release_slots(kSlots);
  std::atomic<std::uint64_t> event_tail{0}, event_head{0}, release_tail{0}, release_head{0};

  std::thread server([&] {
    RingConsumer<Event> events(event_slots.data(), kSlots, event_tail, event_head);
    RingProducer<Release> releases(release_slots.data(), kSlots, release_tail, release_head);
    LeasePool pool(kBase, kBytes, kUnit);
    struct Lease {
      std::uint64_t bytes, came, expected;
      bool sealed;
    };
    std::map<std::uint64_t, Lease> leases;
    Event event;
    for (std::uint64_t seen = 0; seen < kBlocks;) {
      if (!events.pop(event)) {
        std::this_thread::yield();
        continue;
      }
      events.publish();
      std::uint64_t extent_at = event.offset;
      switch (static_cast<EventKind>(event.kind)) {
        case EventKind::lease_request: {
          const auto extent = pool.take_low(kCommon);
          ASSERT_TRUE(extent) << "sealed and read extents must have come back";
          leases[extent->offset] = {extent->bytes, 0, 0, false};
          ASSERT_TRUE(releases.push(Release{1, 0, 0, extent->offset, extent->bytes}));
          continue;
        }
        case EventKind::seal:
          leases.at(event.offset).sealed = true;
          leases.at(event.offset).expected = event.bytes;
          break;
        default:
          for (std::uint64_t i = 0; i < event.bytes; ++i) {
            ASSERT_EQ(memory[event.offset - kBase + i], static_cast<char>(event.token + i));
          }
          extent_at = std::prev(leases.upper_bound(event.offset))->first;
          ++leases.at(extent_at).came;
          ++seen;
      }
      const Lease lease = leases.at(extent_at);
      if (lease.sealed && lease.came == lease.expected) {
        pool.give_back({extent_at, lease.bytes});
        leases.erase(extent_at);
      }
    }
  });

  RingProducer<Event> events(event_slots.data(), kSlots, event_tail, event_head);
  RingConsumer<Release> releases(release_slots.data(), kSlots, release_tail, release_head);
  ExtentArena arena(kCommon);
  const auto push = [&](EventKind kind, std::uint64_t offset, std::uint64_t bytes,
                        std::uint64_t token) {
    Event event{};
    event.kind = static_cast<std::uint32_t>(kind);
    event.offset = offset;
    event.bytes = bytes;
    event.token = token;
    while (!events.push(event)) std::this_thread::yield();
  };
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    const std::uint64_t bytes = 64 * (1 + block * 7 % 40);
    std::uint64_t offset = 0;
    while ((offset = arena.cut(bytes)) == 0) {
      Seal seal;
      if (arena.replace(&seal)) {
        if (seal.offset != 0) push(EventKind::seal, seal.offset, seal.blocks, 0);
        continue;
      }
      push(EventKind::lease_request, 0, kCommon, 0);
      Release release;
      while (!releases.pop(release)) std::this_thread::yield();
      releases.publish();
      ASSERT_TRUE(arena.add({release.offset, release.bytes}));
    }
    for (std::uint64_t i = 0; i < bytes; ++i) {
      memory[offset - kBase + i] = static_cast<char>(block + i);
    }
    push(EventKind::block, offset, bytes, block);
  }
  server.join();
}

}  // namespace

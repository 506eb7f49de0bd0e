// SPDX-License-Identifier: Apache-2.0
// A region that is offered has one owner at the end: the client that claims it, or the server that
// withdraws it.
#include "lib/shm/leases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "tests/unit/shm/two_threads.hpp"

namespace leat::shm {
namespace {

constexpr std::uint64_t kUnit = 64 * 1024;

struct Slots {
  std::array<OfferSlot, kOffers> all{};
  std::span<OfferSlot, kOffers> span{all};
};

TEST(Offers, AreClaimedOnce) {
  Slots slots;
  OfferGiver giver(slots.all[3]);
  OfferReader reader(slots.span, kUnit);
  EXPECT_EQ(reader.claim(kUnit, kLeaseOwn).bytes, 0u);
  giver.offer({kUnit, 2 * kUnit}, kLeaseOwn);
  EXPECT_TRUE(giver.stands());
  EXPECT_EQ(reader.claim(2 * kUnit, kLeaseOwn).offset, kUnit);
  EXPECT_FALSE(giver.stands());
  EXPECT_FALSE(giver.withdraw());
  EXPECT_EQ(reader.claim(2 * kUnit, kLeaseOwn).bytes, 0u);
}

TEST(Offers, AreNotClaimedOnceTheyAreWithdrawn) {
  Slots slots;
  OfferGiver giver(slots.all[0]);
  OfferReader reader(slots.span, kUnit);
  giver.offer({kUnit, kUnit}, kLeaseOwn);
  EXPECT_TRUE(giver.withdraw());
  EXPECT_EQ(reader.claim(kUnit, kLeaseOwn).bytes, 0u);
  EXPECT_FALSE(giver.withdraw());
}

TEST(Offers, AreForBlocksOfTheirKindAndOfAboutTheirSize) {
  Slots slots;
  OfferGiver giver(slots.all[0]);
  OfferReader reader(slots.span, kUnit);
  giver.offer({kUnit, 16 * kUnit}, kLeaseOwn);
  EXPECT_EQ(reader.claim(16 * kUnit, kLeaseCommon).bytes, 0u);
  EXPECT_EQ(reader.claim(16 * kUnit + 1, kLeaseOwn).bytes, 0u);
  EXPECT_EQ(reader.claim(8 * kUnit, kLeaseOwn).bytes, 0u) << "half of it would be wasted";
  EXPECT_EQ(reader.claim(15 * kUnit, kLeaseOwn).bytes, 16 * kUnit);
}

TEST(Offers, OfADeadServerAreWithdrawnUnlessTheyWereClaimed) {
  Slots slots;
  OfferGiver(slots.all[0]).offer({kUnit, kUnit}, kLeaseOwn);
  OfferGiver(slots.all[1]).offer({2 * kUnit, kUnit}, kLeaseOwn);
  OfferReader reader(slots.span, kUnit);
  ASSERT_EQ(reader.claim(kUnit, kLeaseOwn).offset, kUnit);
  EXPECT_EQ(OfferGiver(slots.all[0]).take_over().bytes, 0u);
  EXPECT_EQ(OfferGiver(slots.all[1]).take_over().offset, 2 * kUnit);
  EXPECT_EQ(reader.claim(kUnit, kLeaseOwn).bytes, 0u);
  EXPECT_EQ(OfferGiver(slots.all[2]).take_over().bytes, 0u);
}

TEST(Offers, HaveOneOwnerWhileClaimingAndWithdrawingMeet) {
  constexpr std::uint64_t kRounds = 200'000;
  Slots slots;
  std::atomic<bool> server_gone{false}, client_gone{false};
  std::vector<std::uint8_t> claimed(kRounds + 1), withdrawn(kRounds + 1);
  std::thread client([&] {
    const SaysItIsGone gone(client_gone);
    OfferReader reader(slots.span, kUnit);
    while (!server_gone) {
      const Region region = reader.claim(kUnit, kLeaseOwn);
      if (region.bytes == 0) continue;
      // The whole offer, not one half of it and the other of the next.
      ASSERT_EQ(region.bytes, kUnit + region.offset % 1024);
      ++claimed[region.offset];
    }
  });
  {
    const SaysItIsGone gone(server_gone);
    OfferGiver giver(slots.all[7]);
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
      giver.offer({i, kUnit + i % 1024}, kLeaseOwn);
      if (i % 3 == 0) std::this_thread::yield();
      if (giver.withdraw()) ++withdrawn[i];
    }
  }
  client.join();
  std::uint64_t both = 0;
  for (std::uint64_t i = 1; i <= kRounds; ++i) both += claimed[i] + withdrawn[i] != 1;
  EXPECT_EQ(both, 0u);
}

}  // namespace
}  // namespace leat::shm

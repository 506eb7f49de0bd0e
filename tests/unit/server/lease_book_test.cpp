// SPDX-License-Identifier: Apache-2.0
// Who gets memory, and when it comes back.
#include <gtest/gtest.h>

#include "server/state/memory/lease_book.hpp"
#include "tests/unit/server/sizes.hpp"

namespace leat::server {
namespace {

constexpr std::uint64_t kBase = 1 << 20;

shm::SegmentHeader header(std::uint64_t units, std::uint64_t common = 2) {
  shm::SegmentHeader made{};
  made.data_offset = kBase;
  made.data_bytes = units * kUnit;
  made.unit_bytes = kUnit;
  made.region_bytes = common * kUnit;
  return made;
}

LeaseRequest own(std::uint32_t client, std::uint64_t units, std::int64_t iteration,
                 std::uint64_t token = 0) {
  return {client, shm::kLeaseOwn, iteration, units * kUnit, token};
}
LeaseRequest common(std::uint32_t client, std::int64_t iteration,
                    std::uint32_t flags = shm::kLeaseCommon) {
  return {client, flags, iteration, 0, 0};
}

// One block that fills its own region comes in.
void fill(LeaseBook& book, const Grant& grant) {
  book.block_came(grant.request.client, grant.region.offset, grant.region.bytes);
}

TEST(LeaseBook, AnExtentComesBackWhenItIsSealedAndAllItsBlocksAreReleased) {
  LeaseBook book(header(16), 1);
  book.request(common(0, 0));
  const Grant grant = book.serve().at(0);
  const std::uint64_t region = grant.region.offset;
  EXPECT_EQ(grant.region.bytes, 2 * kUnit);
  book.block_came(0, region, 100);
  book.block_came(0, region, 100);
  book.regions().block_released(0, region);
  book.regions().seal(0, region, 3);  // a third block is still on its way
  book.regions().block_released(0, region);
  EXPECT_EQ(book.regions().used_bytes(), 2 * kUnit);
  book.block_came(0, region, 100);
  book.regions().block_released(0, region);
  EXPECT_EQ(book.regions().used_bytes(), 0u);
}

TEST(LeaseBook, WhatOthersNeedForAnIterationIsNotGivenAhead) {
  LeaseBook book(header(16), 2);
  EXPECT_FALSE(book.give_ahead(0, kUnit * 9, shm::kLeaseOwn)) << "half of it is the other's";
  const auto ahead = book.give_ahead(0, kUnit * 2, shm::kLeaseOwn);
  ASSERT_TRUE(ahead);
  book.request(own(1, 8, 0));
  fill(book, book.serve().at(0));
  EXPECT_FALSE(book.give_ahead(0, kUnit * 3, shm::kLeaseOwn)) << "a quarter stays free";
  EXPECT_TRUE(book.give_ahead(0, kUnit * 2, shm::kLeaseOwn));
  book.request(own(1, 8, 1));
  EXPECT_TRUE(book.serve().empty());
  EXPECT_FALSE(book.give_ahead(0, kUnit, shm::kLeaseOwn)) << "somebody waits";
}

TEST(LeaseBook, AnExtentOfOneBlockNeedsNoSeal) {
  LeaseBook book(header(16), 1);
  book.request(own(0, 5, 0));
  const Grant grant = book.serve().at(0);
  fill(book, grant);
  EXPECT_EQ(book.regions().used_bytes(), 5 * kUnit);
  book.regions().block_released(0, grant.region.offset);
  EXPECT_EQ(book.regions().used_bytes(), 0u);
}

TEST(LeaseBook, OneRankMayHaveWhatTheOthersDoNotUse) {
  LeaseBook book(header(16), 4);
  book.request(own(0, 15, 0));
  EXPECT_EQ(book.serve().size(), 1u);
}

TEST(LeaseBook, SaysWhichMemoryIsAwaitedAndGivesItWhenItIsThere) {
  LeaseBook book(header(16), 2);
  book.regions().withhold();
  book.request(own(0, 4, 0));
  EXPECT_TRUE(book.serve().empty());
  EXPECT_EQ(book.regions().used_bytes(), 0u);
  EXPECT_EQ(book.awaited_memory()->offset, kBase + 12 * kUnit);
  book.regions().supply({kBase + 12 * kUnit, 4 * kUnit});
  EXPECT_FALSE(book.awaited_memory());
  ASSERT_EQ(book.serve().size(), 1u);
  book.regions().forfeit({kBase, 8 * kUnit});
  EXPECT_EQ(book.regions().total_bytes(), 8 * kUnit);
  EXPECT_EQ(book.regions().used_bytes(), 4 * kUnit);
}

TEST(LeaseBook, NoMemoryIsAwaitedForWhatOthersWillNeed) {
  LeaseBook book(header(16), 2);
  book.regions().withhold();
  book.iteration_ended(0, 0);  // client 1 may want its even share of 8
  book.request(own(0, 9, 1));
  EXPECT_FALSE(book.awaited_memory());
  book.request(own(1, 1, 0));
  EXPECT_TRUE(book.awaited_memory()) << "the one that is behind goes first";
}

TEST(LeaseBook, ARankThatIsAheadLeavesOthersWhatTheyWillNeed) {
  LeaseBook book(header(16), 2);
  book.iteration_ended(0, 0);  // client 1 is still in iteration 0 and may want its even share of 8
  book.request(own(0, 9, 1));
  EXPECT_TRUE(book.serve().empty());
  book.request(own(1, 8, 0));
  const std::vector<Grant> grants = book.serve();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].request.client, 1u) << "the one that is behind goes first";
}

TEST(LeaseBook, NobodyOvertakesALargeRequest) {
  LeaseBook book(header(16), 2);
  book.request(own(0, 10, 0));
  fill(book, book.serve().at(0));
  book.request(own(0, 10, 0, 1));
  book.request(own(1, 1, 0, 2));
  EXPECT_TRUE(book.serve().empty());
}

TEST(LeaseBook, WhatIsAskedForAheadWaitsForWhatIsNeededNow) {
  LeaseBook book(header(2), 2);
  book.request(common(0, 0, shm::kLeaseAhead));
  book.request(common(1, 0));
  EXPECT_EQ(book.serve().at(0).request.client, 1u);
}

TEST(LeaseBook, ARequestThatNothingCanEverMeetIsHopelessOnlyThen) {
  LeaseBook book(header(16), 2);
  book.request(own(0, 12, 0));
  fill(book, book.serve().at(0));
  book.request(own(0, 12, 0, 7));
  EXPECT_TRUE(book.serve().empty());
  EXPECT_EQ(book.take_hopeless(0)->token, 7u) << "the iteration that needs the memory holds it";
  // With an older iteration in the pipeline there is hope.
  book.iteration_ended(0, 0);
  book.iteration_ended(1, 0);
  book.request(own(0, 12, 1, 8));
  EXPECT_TRUE(book.serve().empty());
  EXPECT_FALSE(book.take_hopeless(0));
}

TEST(LeaseBook, WhileARankIsBehindThereIsHope) {
  LeaseBook book(header(16), 2);
  book.iteration_ended(0, 0);
  book.request(own(0, 12, 1));
  EXPECT_TRUE(book.serve().empty());
  EXPECT_FALSE(book.take_hopeless(INT64_MAX));
}

TEST(LeaseBook, ADeadClientsMemoryAndRequestsGoAtOnceItsBlocksWhenReleased) {
  LeaseBook book(header(16), 2);
  book.request(own(0, 4, 0));
  const Grant with_block = book.serve().at(0);
  fill(book, with_block);
  book.request(own(0, 4, 0));
  book.serve();                 // leased, but the client dies before its block comes
  book.request(own(0, 14, 0));  // and waits for this one
  book.client_gone(0);
  EXPECT_EQ(book.regions().used_bytes(), 4 * kUnit);
  book.regions().block_released(0, with_block.region.offset);
  EXPECT_EQ(book.regions().used_bytes(), 0u);
  book.request(own(1, 16, 0));
  EXPECT_EQ(book.serve().size(), 1u);
}

TEST(LeaseBook, KnowsOnlyPlacesInsideOfAClientsOwnLeases) {
  LeaseBook book(header(16), 2);
  book.request(own(0, 2, 0));
  const std::uint64_t region = book.serve().at(0).region.offset;
  EXPECT_EQ(book.regions().region_of(0, region + 64, 64), region);
  EXPECT_EQ(book.regions().region_of(0, region, 2 * kUnit), region);
  EXPECT_EQ(book.regions().region_of(0, region, 2 * kUnit + 1), 0u);
  EXPECT_EQ(book.regions().region_of(0, region + 64, UINT64_MAX - 10), 0u);
  EXPECT_EQ(book.regions().region_of(0, region - 1, 1), 0u);
  EXPECT_EQ(book.regions().region_of(1, region, 64), 0u);
}

TEST(LeaseBook, GivesUpRequestsOfOneIterationAndOfRanksThatWaitOnly) {
  LeaseBook book(header(4), 2);
  book.request(own(0, 4, 0));
  fill(book, book.serve().at(0));
  EXPECT_EQ(book.requests().first_unmet(), nullptr);
  book.request(common(1, 0, shm::kLeaseAhead));
  EXPECT_EQ(book.requests().first_unmet(), nullptr) << "nobody waits for what is asked for ahead";
  book.request(own(0, 2, 3, 30));
  book.request(own(1, 1, 0, 10));
  book.request(own(0, 1, 3, 31));
  ASSERT_NE(book.requests().first_unmet(), nullptr);
  EXPECT_EQ(book.requests().first_unmet()->token, 10u);
  const std::vector<LeaseRequest> taken = book.requests().take_unmet_of(3);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].token, 30u);
  EXPECT_EQ(taken[1].token, 31u);
  EXPECT_EQ(book.requests().take_first().token, 10u);
  EXPECT_EQ(book.requests().first_unmet(), nullptr);
}

}  // namespace
}  // namespace leat::server

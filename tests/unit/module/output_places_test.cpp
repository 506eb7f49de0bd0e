// SPDX-License-Identifier: Apache-2.0
#include "client-api/module/output_places.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace {

using namespace leat;
using module::OutputPlaces;

constexpr std::uint64_t kMost = std::uint64_t{1} << 20;

OutputPlaces places() {
  return OutputPlaces(os::memory_file("leat-test", os::MayShrink::no), kMost);
}

std::uint64_t put(OutputPlaces& all, std::uint64_t bytes) {
  const Result<void*> data = all.start(bytes);
  EXPECT_TRUE(data) << data.error().message;
  std::memset(*data, 1, bytes);
  return all.finish(*data, bytes).value_or(UINT64_MAX);
}

TEST(OutputPlaces, PlacesAreApartAlignedAndUsedAgain) {
  OutputPlaces all = places();
  const std::uint64_t first = put(all, 100), second = put(all, 8), third = put(all, 1);
  EXPECT_EQ(first, 0U);
  EXPECT_EQ(second, 128U);
  EXPECT_EQ(third, 192U);
  all.release({second});
  EXPECT_EQ(put(all, 64), second);
  all.release({first, 12345, second});
  EXPECT_EQ(put(all, 192), 0U);
}

TEST(OutputPlaces, WhatDoesNotFitIsSaidWithTheNumbers) {
  OutputPlaces all = places();
  const Result<void*> never = all.start(kMost + 1);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().status, Status::ERROR_TOO_LARGE);
  put(all, kMost / 2);
  put(all, kMost / 4);
  const Result<void*> later = all.start(kMost / 2);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().status, Status::ERROR_FULL);
  EXPECT_NE(later.error().message.find("768 KiB of the 1 MiB"), std::string::npos)
      << later.error().message;
  all.release({0});
  EXPECT_TRUE(all.start(kMost / 2));
  EXPECT_FALSE(all.start(UINT64_MAX));
}

TEST(OutputPlaces, OnlyTheStartOfAPlaceThatIsLargeEnoughIsPut) {
  OutputPlaces all = places();
  char outside[8];
  const Result<void*> data = all.start(64);
  ASSERT_TRUE(data);
  char* const start = static_cast<char*>(*data);
  EXPECT_FALSE(all.finish(outside, 8));
  EXPECT_FALSE(all.finish(nullptr, 0));
  EXPECT_FALSE(all.finish(start + 8, 8));
  EXPECT_FALSE(all.finish(start, 65));
  EXPECT_EQ(all.finish(start, 32), 0U);
  EXPECT_FALSE(all.finish(start, 32)) << "it is somebody else's now";
}

TEST(OutputPlaces, WhatWasNotPutComesBackAndStaysMappedAsTheFileGrows) {
  OutputPlaces all = places();
  const Result<void*> small = all.start(8);
  ASSERT_TRUE(small);
  std::memcpy(*small, "1234567", 8);
  ASSERT_TRUE(all.start(kMost - 64));
  EXPECT_EQ(std::string(static_cast<char*>(*small)), "1234567");
  all.give_back();
  EXPECT_TRUE(all.start(kMost));
}

}  // namespace

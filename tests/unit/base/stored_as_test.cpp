// SPDX-License-Identifier: Apache-2.0
#include "lib/base/stored_as.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace leat {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Option {
  std::string name, value;
};

StoredAs packed() {
  return stored_as(std::vector<Option>{
      {"store-type", "int16"}, {"scale", "0.01"}, {"offset", "273.15"}, {"compression", "lz4"}});
}

TEST(StoredAs, IsReadFromOptionsAndSaysWhatFits) {
  const StoredAs as = packed();
  EXPECT_TRUE(as.is_packed());
  EXPECT_EQ(as.type, ScalarType::int16);
  EXPECT_EQ(as.in_words(), "in steps of 0.01: -54.52 to 600.82 fit");
  EXPECT_FALSE(stored_as(std::vector<Option>{{"store-type", "float"}}).is_any());
  const StoredAs negative{.type = ScalarType::uint8, .scale = -2, .offset = 1};
  EXPECT_EQ(negative.low(), -507);  // 255 is the missing value
  EXPECT_EQ(negative.high(), 1);
}

TEST(StoredAs, NothingWraps) {
  const std::vector<double> values{273.15, 600.82, 600.83, -54.52, -54.53, kNan, kInfinity, -1e300};
  std::vector<std::int16_t> stored(values.size() + 1, 7);
  const StoringLoss loss = packed().store(ScalarType::float64, values.data(), 0,
                                          static_cast<std::int64_t>(values.size()), stored.data());
  const std::int16_t none = -32768;
  EXPECT_EQ(stored, (std::vector<std::int16_t>{0, 32767, none, -32767, none, none, none, none, 7}));
  EXPECT_EQ(loss.stored, 3);
  EXPECT_EQ(loss.too_large, 4);
  EXPECT_EQ(loss.not_a_number, 1);
  EXPECT_LT(loss.error, 1e-12);
}

TEST(StoredAs, TheErrorIsTheLargestOfAllPieces) {
  std::vector<float> values(5000, 273.15F);
  values[4321] = 273.154F;
  std::vector<std::int16_t> stored(values.size());
  const StoringLoss loss =
      packed().store(ScalarType::float32, values.data(), 0, 5000, stored.data());
  EXPECT_EQ(loss.error, std::abs(273.15 - static_cast<double>(values[4321])));
  EXPECT_EQ(packed().store(ScalarType::float32, values.data(), 0, 5000, nullptr).stored, 5000);
}

TEST(StoredAs, BitsAreRoundedToEven) {
  StoredAs as{.type = ScalarType::float32, .keep_bits = 2};
  const std::vector<double> values{1.125, 1.375, 1.1250001, -kInfinity, 1e300};
  std::vector<float> stored(values.size());
  const StoringLoss loss = as.store(ScalarType::float64, values.data(), 0, 5, stored.data());
  EXPECT_EQ(stored[0], 1.0F);
  EXPECT_EQ(stored[1], 1.5F);
  EXPECT_EQ(stored[2], 1.25F);
  EXPECT_TRUE(std::isinf(stored[3]) && std::isinf(stored[4]));
  EXPECT_EQ(loss.too_large, 1);
  EXPECT_EQ(loss.error, 0.125);
}

TEST(OwnRows, GhostsAreLeftOut) {
  using Rows = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const auto rows = [](std::vector<std::int64_t> extent, std::vector<std::int64_t> low,
                       std::vector<std::int64_t> high) {
    Rows all;
    each_own_row(extent.size(), extent.data(), low.data(), high.data(),
                 [&](std::int64_t first, std::int64_t count) { all.emplace_back(first, count); });
    return all;
  };
  EXPECT_EQ(rows({}, {}, {}), (Rows{{0, 1}}));
  EXPECT_EQ(rows({2, 3, 4}, {0, 0, 0}, {0, 0, 0}), (Rows{{0, 24}}));
  EXPECT_EQ(rows({3, 4}, {1, 0}, {0, 0}), (Rows{{4, 8}}));
  EXPECT_EQ(rows({3, 4}, {1, 1}, {0, 2}), (Rows{{5, 1}, {9, 1}}));
  EXPECT_EQ(rows({2, 2, 5}, {0, 0, 1}, {0, 0, 1}), (Rows{{1, 3}, {6, 3}, {11, 3}, {16, 3}}));
  EXPECT_EQ(rows({2, 4, 3}, {0, 1, 0}, {0, 1, 0}), (Rows{{3, 6}, {15, 6}}));
  EXPECT_EQ(rows({2, 2}, {1, 0}, {1, 0}), Rows{});
}

}  // namespace
}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/draws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lib/predict/machine.hpp"

namespace leat::predict {
namespace {

// tests/predict/numpy_model.py makes the same numbers. A change of them changes every prediction.
TEST(Draws, AreTheSameForEver) {
  const Draws draws(1);
  EXPECT_EQ(draws.uniform(Purpose::phase, 0), 0x1.b56c0a4dcd968p-1);
  EXPECT_EQ(draws.normal(Purpose::start, 7, 3), 0x1.1e96cba395f63p+1);
  EXPECT_EQ(draws.log_normal_ns(40'000'000, 0.15, Purpose::duration, 65535, 2), 33565256);
}

TEST(Draws, OfDifferentPlacesPurposesAndSeedsDiffer) {
  const Draws draws(1);
  const double one = draws.uniform(Purpose::phase, 1, 2);
  EXPECT_EQ(one, draws.uniform(Purpose::phase, 1, 2));
  EXPECT_NE(one, draws.uniform(Purpose::phase, 2, 1));
  EXPECT_NE(one, draws.uniform(Purpose::start, 1, 2));
  EXPECT_NE(one, Draws(2).uniform(Purpose::phase, 1, 2));
}

TEST(Draws, OfTimesAreNeverLongerThanSumsOfThemCanBe) {
  const Draws draws(1);
  std::int64_t longest = 0;
  for (int i = 0; i < 1000; ++i)
    longest = std::max(longest, draws.log_normal_ns(kLongestNs / 2, 5, Purpose::compute, i));
  EXPECT_EQ(longest, kLongestNs);
  EXPECT_EQ(draws.log_normal_ns(7, 0, Purpose::compute, 1), 7);
}

TEST(Draws, HaveTheMomentsOfTheirDistributions) {
  const Draws draws(3);
  constexpr int kMany = 200000;
  double uniform = 0, normal = 0, square = 0, cube = 0, fourth = 0;
  for (int i = 0; i < kMany; ++i) {
    uniform += draws.uniform(Purpose::phase, i);
    const double z = draws.normal(Purpose::start, i / 100, i % 100);
    normal += z;
    square += z * z;
    cube += z * z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(uniform / kMany, 0.5, 0.003);
  EXPECT_NEAR(normal / kMany, 0, 0.01);
  EXPECT_NEAR(square / kMany, 1, 0.01);
  EXPECT_NEAR(cube / kMany, 0, 0.04);
  EXPECT_NEAR(fourth / kMany, 3, 0.06);
}

TEST(Draws, KnowLogarithmsAndExponentialsToTheLastBitsOfADouble) {
  for (double x = 1e-300; x < 1e300; x *= 1.7)
    EXPECT_NEAR(log_of(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
  for (double x = -40; x < 40; x += 0.37)
    EXPECT_NEAR(exp_of(x), std::exp(x), 5e-16 * std::exp(x)) << x;
  EXPECT_EQ(log_of(1), 0);
  EXPECT_EQ(exp_of(0), 1);
}

}  // namespace
}  // namespace leat::predict

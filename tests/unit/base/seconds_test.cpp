// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.hpp"

#include <gtest/gtest.h>

namespace leat {
namespace {

TEST(Seconds, InWords) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(2.5e-6), "2.50 us");
  EXPECT_EQ(format_seconds(0.0412), "41.2 ms");
  EXPECT_EQ(format_seconds(2.5e-10), "0.25 ns");
  EXPECT_EQ(format_seconds(0.9994), "999 ms");
  EXPECT_EQ(format_seconds(0.9996), "1.00 s");
  EXPECT_EQ(format_seconds(99), "99.0 s");
  EXPECT_EQ(format_seconds(363), "6 min 3 s");
  EXPECT_EQ(format_seconds(7500), "2 h 5 min");
}

}  // namespace
}  // namespace leat

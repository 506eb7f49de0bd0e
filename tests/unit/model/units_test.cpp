// SPDX-License-Identifier: Apache-2.0
#include "lib/model/units.hpp"

#include <gtest/gtest.h>

#include "lib/model/xml/parser.hpp"

namespace leat::model {
namespace {

TEST(Units, AreThoseOfThePage) {
  EXPECT_EQ(parse_size("512MiB"), 512ull << 20);
  EXPECT_EQ(parse_size("2 KB"), 2000u);
  EXPECT_EQ(parse_size("18446744073709551615B"), UINT64_MAX);
  EXPECT_EQ(parse_size("512"), std::nullopt);
  EXPECT_EQ(parse_size("512 mib"), std::nullopt);
  EXPECT_EQ(parse_size("1.5GiB"), std::nullopt);
  EXPECT_EQ(parse_size(""), std::nullopt);
  EXPECT_EQ(parse_size("-1MiB"), std::nullopt);
  EXPECT_EQ(parse_size("99999999999GiB"), std::nullopt);
  EXPECT_EQ(parse_duration("1.5min"), 90.0);
  EXPECT_EQ(parse_duration("250ms"), 0.25);
  EXPECT_EQ(parse_duration("5"), std::nullopt);
}

TEST(TextEncoding, FindsTheFirstByteThatIsNoText) {
  EXPECT_FALSE(first_bad_byte("<a b=\"\xC2\xB0\xE2\x82\xAC\xF0\x9F\x8C\x8A\"/>"));
  const auto latin = first_bad_byte("<a>\n  \xC2\xB0\xB0");
  ASSERT_TRUE(latin);
  EXPECT_EQ(latin->line, 2);
  EXPECT_EQ(latin->column, 4) << "in characters";
  EXPECT_NE(latin->problem.find("0xB0"), std::string::npos);
  EXPECT_TRUE(first_bad_byte("\xC2")) << "cut inside of a character";
  EXPECT_TRUE(first_bad_byte(std::string("a\0b", 3)));
}

TEST(TextEncoding, LeavesOtherEncodingsAlone) {
  EXPECT_FALSE(first_bad_byte("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a b=\"\xB0\"/>"));
  EXPECT_TRUE(first_bad_byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?><a b=\"\xB0\"/>"));
  EXPECT_FALSE(first_bad_byte(std::string("\xFF\xFE<\0", 4)));
}

}  // namespace
}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
#include "lib/base/table.hpp"

#include <gtest/gtest.h>

namespace leat {
namespace {

const std::string kGrad = "\xC2\xB0", kName = "W\xC3\xA4rme" + kGrad + kGrad + kGrad;

Table table_of_two() {
  Table table({{.title = "name", .least = 8},
               {.title = "bytes", .right = true},
               {.title = "description", .least = 12, .may_go = true}});
  table.add({{kName}, {"17 KiB"}, {"of the plate, at its upper side"}});
  table.add({{"p"}, {"8 B"}});
  return table;
}

TEST(Text, IsCutBetweenCharactersAndNotWithin) {
  EXPECT_EQ(cut(kName, 8), kName);
  EXPECT_EQ(cut(kName + kGrad, 8), "W\xC3\xA4rme...");
}

TEST(Table, IsAlignedByCharactersAndHasNoBlanksAtTheEnds) {
  EXPECT_EQ(table_of_two().text({}), "  name       bytes  description\n  " + kName +
                                         "  17 KiB  of the plate, at its upper side\n"
                                         "  p            8 B\n");
}

TEST(Table, WithoutTitlesHasNoLineOfThem) {
  Table table({{}, {.right = true}});
  table.add({{"one rank"}, {"1 B"}});
  EXPECT_EQ(table.text({}), "  one rank  1 B\n");
}

TEST(Table, IsCutThenLosesColumnsThenBecomesParagraphs) {
  const std::string head = "  name       bytes";
  EXPECT_EQ(table_of_two().rows({false, 40})[1], "  " + kName + "  17 KiB  of the plate, at ...");
  EXPECT_EQ(table_of_two().rows({false, 20})[0], head);
  EXPECT_EQ(table_of_two().rows({false, 12}),
            (std::vector<std::string>{"  " + kName + "\n      17 KiB", "  p\n      8 B"}));
}

TEST(Table, WrapsItsLastColumn) {
  Table table({{.title = "what"}, {.title = "why", .wraps = true}});
  table.add({{"a"}, {"because of one thing and of another thing, and more"}});
  EXPECT_EQ(table.rows({false, 40})[1],
            "  a     because of one thing and of\n        another thing, and more");
}

TEST(Table, IsPaintedBesideItsAlignment) {
  Table table({{.title = "a"}, {.title = "b"}});
  table.add({{"x", Paint::red}, {"y"}});
  EXPECT_EQ(table.rows({true, 0})[1], "  \033[31mx\033[0m  y");
}

}  // namespace
}  // namespace leat

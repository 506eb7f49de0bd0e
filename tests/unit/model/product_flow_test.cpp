// SPDX-License-Identifier: Apache-2.0
// In which order products are made of products, and circles in that.
#include "lib/model/checks.hpp"

#include <gtest/gtest.h>

namespace leat::model {
namespace {

TEST(ProductFlow, HasThoseThatMakeNothingOfProductsFirstAndOthersBehindWhatTheyTake) {
  const ProductFlow flow = product_flow({{"last", {"middle/*"}, {"z"}},
                                         {"file", {"*"}, {}},
                                         {"middle", {"first/x", "last/no"}, {"y"}},
                                         {"first", {"stats/*"}, {"x"}}});
  EXPECT_EQ(flow.circle, "");
  EXPECT_EQ(flow.steps, (std::vector<int>{3, 0, 2, 1}));
}

TEST(ProductFlow, NamesACircleOnceAround) {
  EXPECT_EQ(product_flow({{"a", {"b/y"}, {"x"}}, {"b", {"a/*"}, {"y"}}}).circle,
            "a/x -> b/y -> a/x");
  const std::string three = product_flow({{"in", {"c/*"}, {"i"}},
                                          {"c", {"b/*"}, {"z"}},
                                          {"a", {"c/*"}, {"x"}},
                                          {"b", {"a/*"}, {"y"}}})
                                .circle;
  EXPECT_EQ(three, "c/z -> a/x -> b/y -> c/z");
}

TEST(ProductFlow, TakesNobodysOwnProductsForACircle) {
  EXPECT_EQ(product_flow({{"a", {"*"}, {"x"}}}).circle, "");
  EXPECT_EQ(product_flow({{"s", {"*"}, {"x"}}, {"s", {"*"}, {"y"}}}).circle, "");
}

TEST(ProductFlow, GoesFromNodesToStagingNodesAndNotBack) {
  const std::vector<ProductMaker> makers = {{"a", {"*"}, {"x"}, false}, {"b", {"*"}, {"y"}, true}};
  EXPECT_EQ(product_flow(makers).steps, (std::vector<int>{1, 2}));
  EXPECT_EQ(why_never_there(makers[0], makers), "");
  const ProductMaker asks{"c", {"d/*", "b@4/y"}, {}, false};
  EXPECT_NE(why_never_there(asks, makers).find("\"b\" works on staging nodes"), std::string::npos);
  EXPECT_EQ(why_never_there({"c", {"b/y"}, {}, true}, makers), "");
}

TEST(ProductFlow, KnowsASourceWithAndWithoutItsNode) {
  EXPECT_EQ(without_node("stats@12/mean"), "stats/mean");
  EXPECT_EQ(without_node("stats@12"), "stats");
  for (const char* other : {"stats/mean", "stats@/mean", "stats@1x/mean", "stats/m@1", "@", ""})
    EXPECT_EQ(without_node(other), other);
  EXPECT_TRUE(is_wanted({"stats/*"}, "stats@12/mean"));
  EXPECT_TRUE(is_wanted({"stats@12/*"}, "stats@12/mean"));
  EXPECT_FALSE(is_wanted({"stats@1/*"}, "stats@12/mean"));
  EXPECT_FALSE(is_wanted({"stats@12/*"}, "stats/mean"));
}

TEST(ProductFlow, KnowsPatterns) {
  EXPECT_TRUE(is_wanted({"no", "st*s/m?an"}, "stats/mean"));
  EXPECT_TRUE(is_wanted({"*"}, "stats/mean"));
  EXPECT_FALSE(is_wanted({}, "stats/mean"));
  EXPECT_FALSE(is_wanted({"mean"}, "stats/mean"));
  EXPECT_EQ(words_of("  a\tb\n c "), (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace leat::model

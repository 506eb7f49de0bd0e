// SPDX-License-Identifier: Apache-2.0
#include "lib/staging/shares.hpp"

#include <gtest/gtest.h>

#include "lib/model/places.hpp"
#include "lib/model/reader.hpp"

namespace leat::staging {
namespace {

using Plan = std::vector<std::int64_t>;

TEST(Plan, NeighboursStayTogetherAndNodesGetAboutAsManyRanks) {
  EXPECT_EQ(plan_of({{0, 1}, {2, 3}, {4, 5}, {6, 7}}, 2), (Plan{0, 0, 1, 1}));
  EXPECT_EQ(plan_of({{6, 7}, {2, 3}, {4, 5}, {0, 1}}, 2), (Plan{1, 0, 1, 0}));
  EXPECT_EQ(plan_of({{0, 1, 2, 3, 4, 5}, {6}, {7}}, 2), (Plan{0, 1, 1}));
  EXPECT_EQ(plan_of({{0}, {1}, {2}}, 1), (Plan{0, 0, 0}));
  EXPECT_EQ(plan_of({{0, 4}, {1, 5}, {2, 6}, {3, 7}}, 4), (Plan{0, 1, 2, 3}));
  EXPECT_EQ(plan_of({{0}}, 3), (Plan{0}));  // the first ones have a share
  EXPECT_EQ(plan_of({{0}, {1}}, 5), (Plan{0, 1}));
  EXPECT_EQ(plan_of({}, 3), (Plan{}));
}

TEST(Session, SaysWhichRunItIsOfAndHowOftenItMoved) {
  EXPECT_EQ(session_of({"job7", {4, 5}, 8, 0}), "job7-staging");
  EXPECT_EQ(name_in("job7-staging").run, "job7-staging");
  EXPECT_EQ(name_in("job7-staging").moved, 0);
  for (const std::int32_t moved : {1, 35, 36, 91'652'779, 2'000'000'000}) {
    const std::string session = session_of({"job7", {4, 5}, 8, moved});
    EXPECT_LE(session.size(), 64u);
    EXPECT_EQ(name_in(session).run, "job7-staging") << session;
    EXPECT_EQ(name_in(session).moved, moved) << session;
  }
}

TEST(Session, OfALongNameFitsAndKeepsWhatDiffers) {
  const std::string a = session_of({std::string(63, 'a') + "1", {0}, 1, 2'000'000'000});
  const std::string b = session_of({std::string(63, 'a') + "2", {0}, 1, 2'000'000'000});
  EXPECT_LE(a.size(), 64u);
  EXPECT_NE(a, b);
}

TEST(Share, ComesBackFromItsText) {
  const std::optional<Share> share = share_in(text_of({"run", {1, 3, 8}, 9, 5}));
  ASSERT_TRUE(share);
  EXPECT_EQ(share->ranks, (RankList{1, 3, 8}));
  EXPECT_EQ(share->all, 9);
  EXPECT_EQ(share->moved, 5);
  for (const char* text : {"", "{}", R"({"run":"r","ranks":[],"all":1,"moved":0})",
                           R"({"run":"r","ranks":[2,1],"all":3,"moved":0})",
                           R"({"run":"r","ranks":[3],"all":3,"moved":0})",
                           R"({"run":"r","ranks":[-1],"all":3,"moved":0})",
                           R"({"run":1,"ranks":[0],"all":3,"moved":0})"})
    EXPECT_FALSE(share_in(text)) << text;
}

}  // namespace
}  // namespace leat::staging

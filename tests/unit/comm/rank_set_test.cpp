// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/rank_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace leat::comm {
namespace {

// The same by a set of the standard library.
struct Both {
  RankSet ours;
  std::set<Rank> theirs;

  void expect_same() const {
    EXPECT_EQ(ours.ranks(), std::vector<Rank>(theirs.begin(), theirs.end()));
    EXPECT_EQ(ours.count(), theirs.size());
    for (std::size_t i = 1; i < ours.ranges().size(); ++i)
      EXPECT_GT(ours.ranges()[i].first, ours.ranges()[i - 1].last + 1);
  }
};

Both any(std::mt19937* random) {
  Both both;
  for (std::uint32_t i = (*random)() % 8; i > 0; --i) {
    const auto first = static_cast<Rank>((*random)() % 40);
    const auto last = first + static_cast<Rank>((*random)() % 6);
    both.ours += RankSet(first, last);
    for (Rank rank = first; rank <= last; ++rank) both.theirs.insert(rank);
  }
  return both;
}

TEST(RankSet, IsASet) {
  std::mt19937 random(5);
  for (int turn = 0; turn < 3000; ++turn) {
    const Both a = any(&random), b = any(&random);
    a.expect_same();
    Both sum{a.ours + b.ours, a.theirs}, difference{a.ours - b.ours, {}},
        common{a.ours & b.ours, {}};
    sum.theirs.insert(b.theirs.begin(), b.theirs.end());
    for (const Rank rank : a.theirs)
      (b.theirs.contains(rank) ? common : difference).theirs.insert(rank);
    sum.expect_same();
    difference.expect_same();
    common.expect_same();
    EXPECT_EQ(a.ours.has(b.ours), common.theirs == b.theirs);
    EXPECT_EQ(a.ours.overlaps(b.ours), !common.theirs.empty());
    EXPECT_EQ(a.ours.count_in(b.ours), common.theirs.size());
    const RankSet c = any(&random).ours;
    EXPECT_EQ(RankSet::have({&a.ours, &b.ours}, c), (a.ours + b.ours).has(c));
    for (Rank rank = -1; rank < 50; ++rank) EXPECT_EQ(a.ours.has(rank), a.theirs.contains(rank));
  }
}

TEST(RankSet, SaysWhoIsInIt) {
  EXPECT_EQ((RankSet(0, 3) + RankSet(7)).text(), "0-3, 7");
  EXPECT_EQ(RankSet(5, 4).text(), "");
}

}  // namespace
}  // namespace leat::comm

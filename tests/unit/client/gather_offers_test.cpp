// SPDX-License-Identifier: Apache-2.0
// The ranks gather what their servers say, with collective calls of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "client-api/connect/ranks.hpp"

namespace leat::client {
namespace {

class Together {
 public:
  explicit Together(int size)
      : size_(size), numbers_(static_cast<std::size_t>(size)), barrier_(size) {}

  std::vector<std::string> gather(const std::vector<ServerOffer>& of_ranks) {
    std::vector<std::string> gathered(of_ranks.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < of_ranks.size(); ++i) {
      threads.emplace_back([&, i] {
        Rank own{this, static_cast<int>(i)};
        leat_group group{};
        group.struct_size = sizeof group;
        group.context = &own;
        group.rank = own.number;
        group.size = size_;
        group.least = least;
        group.broadcast = broadcast;
        gathered[i] = gather_offers(group, of_ranks[i]);
      });
    }
    for (std::thread& each : threads) each.join();
    return gathered;
  }
  int broadcasts() const { return broadcasts_; }

 private:
  struct Rank {
    Together* all;
    int number;
  };

  static void least(void* context, std::int64_t* value) {
    const Rank& own = *static_cast<Rank*>(context);
    own.all->numbers_[static_cast<std::size_t>(own.number)] = *value;
    own.all->barrier_.arrive_and_wait();
    *value = *std::min_element(own.all->numbers_.begin(), own.all->numbers_.end());
    own.all->barrier_.arrive_and_wait();
  }
  static void broadcast(void* context, void* data, std::int32_t bytes, std::int32_t root) {
    const Rank& own = *static_cast<Rank*>(context);
    if (own.number == root) {
      own.all->bytes_.assign(static_cast<char*>(data), static_cast<std::size_t>(bytes));
      ++own.all->broadcasts_;
    }
    own.all->barrier_.arrive_and_wait();
    std::memcpy(data, own.all->bytes_.data(), own.all->bytes_.size());
    own.all->barrier_.arrive_and_wait();
  }

  int size_, broadcasts_ = 0;
  std::vector<std::int64_t> numbers_;
  std::string bytes_;
  std::barrier<> barrier_;
};

TEST(GatherOffers, GivesThoseOfAllServersToTheLowestRankOfEach) {
  Together ranks(6);
  // Ranks of a server need not follow each other; rank 3 has Leat switched off.
  const ServerOffer a{11, "a secret;", "a;"}, b{22, "b secret;", "b;"}, c{33, "c secret;", "c;"};
  const std::vector<std::string> got = ranks.gather({a, b, a, {}, c, b});
  const std::string all = "a secret;b;c;";
  EXPECT_EQ(got, (std::vector<std::string>{all, all, "", "", all, ""}));
  EXPECT_EQ(ranks.broadcasts(), 3);
}

TEST(GatherOffers, EndsAtOnceWhereNobodyOffersAnything) {
  Together ranks(3);
  EXPECT_EQ(ranks.gather({{}, {}, {}}), (std::vector<std::string>{"", "", ""}));
  EXPECT_EQ(ranks.broadcasts(), 0);
}

}  // namespace
}  // namespace leat::client

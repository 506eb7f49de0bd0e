// SPDX-License-Identifier: Apache-2.0
// Plugins of several servers in one process that reduce together: outcomes come later, in calls of their own, before close().
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "server/include/plugin.hpp"
#include "tests/support/store_servers.hpp"

namespace leat::server {
namespace {

using comm::tests::MemoryServers;
using tests::end_all;
using tests::StoreServer;

// What a plugin was told, by server and iteration.
struct Told {
  double sum = 0, rest = 0, least = 0;
  std::int64_t servers_sum = 0, again = 0;
  int missing = -1, again_missing = -1;
  bool is_first = false;
  std::string gathered{};  // of each server: "0", "1x", "2xx", or "-" of one that gave nothing
};
std::mutex told_mutex;
std::map<std::pair<int, std::int64_t>, Told> told;
std::map<int, std::vector<std::string>> failed_to_close;  // by server
std::atomic<int> failing_server{-1}, odd_server{-1};

// The session's name ends in the number of the server.
class Adding {
 public:
  Adding(const leat_run& run, ::leat::Host host)
      : host_(host), server_(run.session[std::string(run.session).size() - 1] - '0') {}

  void iteration(const leat_iteration_data& data) {
    ::leat::ExactSum sum;
    for (const double each : {1e16, 1.0, -1e16, 1e-20}) sum.add(each);
    ::leat::Columns columns;
    columns.sum(std::vector<::leat::ExactSum>{sum});
    columns.sum(std::vector<std::int64_t>{server_ + 1});
    columns.min(std::vector<double>{10.0 - server_});
    columns.gather(std::string(static_cast<std::size_t>(server_), 'x'));
    const bool is_odd = data.iteration == 1 && odd_server == server_;
    if (is_odd) columns.max(std::vector<double>{1});
    if (!is_odd) ++asked_;
    host_.reduce(columns, [this](const ::leat::Reduced& all) { take(all); });
    if (data.iteration != 1 || failing_server != server_) return;
    --asked_;
    throw std::runtime_error("as it was told");
  }
  void close() {
    const std::lock_guard<std::mutex> lock(told_mutex);
    if (asked_ != 0) failed_to_close[server_].push_back("outcomes are missing");
  }

 private:
  void take(const ::leat::Reduced& all) {
    {
      const std::lock_guard<std::mutex> lock(told_mutex);
      Told& mine = told[{server_, all.iteration()}];
      mine.sum = all.real(0);
      mine.rest = all.rest(0);
      mine.servers_sum = all.integer(1);
      mine.least = all.real(2);
      mine.missing = all.servers_missing();
      mine.is_first = all.is_first();
      EXPECT_EQ(server_, all.server());
      for (int server = 0; server < all.servers(); ++server) {
        const auto bytes = all.gathered(3, server);
        mine.gathered += bytes ? std::to_string(server) + std::string(*bytes) : "-";
      }
    }
    ::leat::Columns more;
    more.sum(std::vector<std::int64_t>{all.integer(1)});
    host_.reduce(more, [this](const ::leat::Reduced& again) {
      const std::lock_guard<std::mutex> lock(told_mutex);
      told[{server_, again.iteration()}].again = again.integer(0);
      told[{server_, again.iteration()}].again_missing = again.servers_missing();
      --asked_;
    });
    ::leat::Products products;
    products.add("sum", all.real(0));
    if (all.is_first()) host_.publish(std::move(products));
  }

  ::leat::Host host_;
  int server_;
  int asked_ = 0;  // and not told
};

using AddingCalls = ::leat::detail::Calls<Adding>;
const leat_plugin kAdding{LEAT_PLUGIN_ABI,
                          sizeof(leat_plugin),
                          "adding",
                          ::leat::detail::open<Adding>,
                          AddingCalls::iteration,
                          ::leat::detail::close<Adding>,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

std::string adding_xml(bool may_skip) {
  return std::string(R"(<simulation name="adding"><architecture><buffer size="4MiB"/></architecture>
    <data><layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/></data>
    <storage><store name="out" type="trace")") +
         (may_skip ? " when-slow=\"skip\"" : "") + "/></storage></simulation>";
}

class PluginReductionsTest : public ::testing::TestWithParam<bool> {
 protected:
  PluginReductionsTest() {
    const std::lock_guard<std::mutex> lock(told_mutex);
    told.clear();
    failed_to_close.clear();
    failing_server = odd_server = -1;
    for (comm::Rank rank = 0; rank < 3; ++rank)
      servers_.push_back(std::make_unique<StoreServer>(meeting_, rank, adding_xml(GetParam()),
                                                       std::vector<const leat_plugin*>{&kAdding}));
  }
  void submit_all(std::int64_t iterations) {
    for (std::int64_t i = 0; i < iterations; ++i)
      for (const auto& each : servers_) each->submit(Iteration{i, true, {Block{}}, {}, {}});
  }
  void end() {
    end_all(servers_);
    EXPECT_TRUE(failed_to_close.empty());
  }
  Told of(int server, std::int64_t iteration) const { return told[{server, iteration}]; }

  MemoryServers meeting_{3};
  std::vector<std::unique_ptr<StoreServer>> servers_;
};

TEST_P(PluginReductionsTest, outcomes_come_to_all_before_the_plugin_is_closed) {
  submit_all(1);
  end();
  for (int server = 0; server < 3; ++server) {
    EXPECT_EQ(3.0, of(server, 0).sum);
    EXPECT_DOUBLE_EQ(3e-20, of(server, 0).rest) << "what was rounded away";
    EXPECT_EQ(6, of(server, 0).servers_sum);
    EXPECT_EQ(8.0, of(server, 0).least);
    EXPECT_EQ(0, of(server, 0).missing);
    EXPECT_EQ(server == 0, of(server, 0).is_first);
    EXPECT_EQ(18, of(server, 0).again) << "what was reduced again";
    EXPECT_EQ("01x2xx", of(server, 0).gathered);
  }
}

TEST_P(PluginReductionsTest, more_iterations_than_may_wait_for_outcomes_are_all_told) {
  if (GetParam()) GTEST_SKIP() << "it leaves some out";
  submit_all(200);
  end();
  for (std::int64_t i = 0; i < 200; ++i) EXPECT_EQ(18, of(1, i).again) << i;
}

TEST_P(PluginReductionsTest, a_call_that_fails_gives_nothing_and_keeps_nobody_waiting) {
  if (GetParam()) GTEST_SKIP() << "it leaves some out";
  failing_server = 0;
  submit_all(3);
  end();
  EXPECT_EQ(2.0, of(1, 1).sum);
  EXPECT_EQ(1, of(1, 1).missing);
  EXPECT_EQ(1, of(1, 1).again_missing);
  EXPECT_TRUE(of(1, 1).is_first) << "the lowest of those that gave something";
  EXPECT_FALSE(of(2, 1).is_first);
  EXPECT_EQ(-1, of(0, 1).missing) << "it is told nothing";
  EXPECT_EQ("-1x2xx", of(1, 1).gathered);
  EXPECT_EQ(3.0, of(0, 2).sum);
}

TEST_P(PluginReductionsTest, what_does_not_fit_is_left_out) {
  if (GetParam()) GTEST_SKIP() << "it leaves some out";
  odd_server = 2;
  submit_all(3);
  end();
  EXPECT_EQ(2.0, of(0, 1).sum);
  EXPECT_EQ(1, of(0, 1).missing);
  EXPECT_EQ(-1, of(2, 1).missing);
  EXPECT_EQ(3.0, of(2, 2).sum);
}

TEST_P(PluginReductionsTest, an_iteration_that_a_server_never_gets_is_of_the_others) {
  servers_[0]->submit(Iteration{0, true, {Block{}}, {}, {}});
  servers_[1]->submit(Iteration{0, true, {Block{}}, {}, {}});
  servers_[2]->pass(0);
  end();
  EXPECT_EQ(2.0, of(0, 0).sum);
  EXPECT_EQ(1, of(1, 0).missing);
}

INSTANTIATE_TEST_SUITE_P(WhenSlow, PluginReductionsTest, ::testing::Bool(),
                         [](const auto& its) { return its.param ? "skip" : "wait"; });

}  // namespace
}  // namespace leat::server

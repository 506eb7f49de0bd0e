// SPDX-License-Identifier: Apache-2.0
// The analyses that come with Leat, over several servers in one process: one result, with the same bits however blocks are divided
// among servers, and published once.
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/pipeline/plugin_loader.hpp"
#include "tests/support/store_servers.hpp"

namespace leat::server {
namespace {

using comm::tests::MemoryServers;
using tests::end_all;
using tests::StoreServer;

constexpr std::size_t kBlocks = 8, kBlockElements = 1000;

// {iteration, name}: bytes, each time it was published.
using Published = std::map<std::pair<std::int64_t, std::string>, std::vector<std::string>>;
std::mutex published_mutex;
Published published_now;

int open_sink(const leat_run*, const leat_host*, void**) { return 0; }
int take_nothing(void*, const leat_iteration_data*) { return 0; }
int close_sink(void*) { return 0; }
int take_products(void*, const leat_result_set* set) {
  const std::lock_guard<std::mutex> lock(published_mutex);
  for (std::uint64_t i = 0; i < set->result_count; ++i) {
    const leat_result& each = *leat_result_at(set, i);
    published_now[{set->iteration, each.name}].emplace_back(static_cast<const char*>(each.data),
                                                            each.bytes);
  }
  return 0;
}
const leat_plugin kSink{LEAT_PLUGIN_ABI, sizeof(leat_plugin),
                        "sink",          open_sink,
                        take_nothing,    close_sink,
                        take_products,   nullptr,
                        nullptr,         nullptr,
                        nullptr,         nullptr,
                        nullptr,         nullptr};

std::vector<double> values_of_block(std::int64_t iteration, std::size_t block) {
  std::mt19937_64 generator(100 * static_cast<std::uint64_t>(iteration) + block);
  std::normal_distribution<double> normal(300, 1e-3);
  std::vector<double> values(kBlockElements);
  for (double& each : values) each = normal(generator) * std::pow(2.0, double(generator() % 20));
  return values;
}

// Eight blocks, divided among so many servers.
Published analysed(const std::string& type, const std::string& options, comm::Rank servers) {
  {
    const std::lock_guard<std::mutex> lock(published_mutex);
    published_now.clear();
  }
  const Result<LoadedPlugin> plugin = load_plugin(LEAT_TEST_PLUGINS "/" + type + ".so");
  EXPECT_TRUE(plugin) << plugin.error().message;
  const std::string xml =
      R"(<simulation name="analyses"><architecture><buffer size="4MiB"/></architecture>
    <data><layout name="row" type="double" dimensions="1000"/><variable name="a" layout="row" store="its"/>
      <variable name="never" layout="row" store="its"/></data>
    <storage><store name="its" type=")" +
      type + "\">" + options +
      R"(</store><store name="sink" type="trace" products="its/*"/></storage></simulation>)";
  MemoryServers meeting(servers);
  std::vector<std::unique_ptr<StoreServer>> all;
  std::vector<std::vector<double>> memory;
  for (comm::Rank rank = 0; rank < servers; ++rank)
    all.push_back(std::make_unique<StoreServer>(
        meeting, rank, xml, std::vector<const leat_plugin*>{plugin->plugin(), &kSink}));
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::size_t server = 0; server < all.size(); ++server) {
      Iteration iteration{i, true, {}, {}, {}};
      for (std::size_t block = server; block < kBlocks; block += all.size()) {
        memory.push_back(values_of_block(i, block));
        Block made;
        made.rank = static_cast<std::int32_t>(block);
        made.extent[0] = kBlockElements;
        made.data = memory.back().data();
        made.bytes = kBlockElements * sizeof(double);
        iteration.blocks.push_back(made);
      }
      all[server]->submit(std::move(iteration));
    }
  }
  end_all(all);
  const std::lock_guard<std::mutex> lock(published_mutex);
  return published_now;
}

template <class T>
T number(const Published& all, std::int64_t iteration, const std::string& name) {
  T value{};
  const auto found = all.find({iteration, name});
  EXPECT_TRUE(found != all.end()) << name;
  if (found != all.end()) std::memcpy(&value, found->second.at(0).data(), sizeof value);
  return value;
}

void expect_once_and_alike(const std::string& type, const std::string& options) {
  const Published alone = analysed(type, options, 1);
  EXPECT_FALSE(alone.empty());
  for (const comm::Rank servers : {2, 4, 8}) {
    Published several = analysed(type, options, servers);
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(0, number<std::int64_t>(several, i, "a_servers_missing"));
      several.erase({i, "a_servers_missing"});
    }
    EXPECT_EQ(alone, several) << servers << " servers";
    for (const auto& [name, each] : several) EXPECT_EQ(1U, each.size()) << name.second;
  }
}

TEST(AnalysesOfServers, statistics_are_those_of_the_run) {
  expect_once_and_alike("statistics", "");
  const Published of = analysed("statistics", "", 4);
  long double sum = 0, squares = 0;
  for (std::size_t block = 0; block < kBlocks; ++block)
    for (const double each : values_of_block(1, block)) sum += each;
  const long double mean = sum / (kBlocks * kBlockElements);
  for (std::size_t block = 0; block < kBlocks; ++block)
    for (const double each : values_of_block(1, block)) squares += (each - mean) * (each - mean);
  EXPECT_EQ(8000, number<std::int64_t>(of, 1, "a_count"));
  EXPECT_DOUBLE_EQ(static_cast<double>(mean), number<double>(of, 1, "a_mean"));
  EXPECT_DOUBLE_EQ(static_cast<double>(std::sqrt(squares / (kBlocks * kBlockElements))),
                   number<double>(of, 1, "a_std"));
}

TEST(AnalysesOfServers, a_histogram_finds_its_range_in_all_of_the_run) {
  expect_once_and_alike("histogram", R"(<option name="bins" value="7"/>)");
  expect_once_and_alike("histogram", R"(<option name="max" value="1000"/>)");
}

TEST(AnalysesOfServers, a_histogram_of_a_given_range_counts_all_of_the_run) {
  expect_once_and_alike("histogram",
                        R"(<option name="min" value="299"/><option name="max" value="1e6"/>)");
}

TEST(AnalysesOfServers, with_scope_node_each_server_publishes_its_own) {
  for (const char* const type : {"statistics", "histogram"}) {
    const Published of = analysed(type, R"(<option name="scope" value="node"/>)", 4);
    EXPECT_EQ(0U, of.count({0, "a_servers_missing"}));
    EXPECT_EQ(4U, of.at({0, "a_not_finite"}).size()) << type;
  }
  const Published of = analysed("statistics", R"(<option name="scope" value="node"/>)", 4);
  EXPECT_EQ(2000, number<std::int64_t>(of, 2, "a_count"));
}

}  // namespace
}  // namespace leat::server

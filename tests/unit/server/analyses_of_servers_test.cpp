// SPDX-License-Identifier: Apache-2.0
// The analyses that come with Leat, over several servers in one process: one result, with the same bits however blocks are divided
// among servers, and published once.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
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

// What each block of an iteration has, of one variable or of several that follow each other in the XML.
struct Written {
  std::uint32_t variable;
  std::vector<std::int64_t> extent;
  std::vector<double> values;
};
struct Data {
  std::string xml;
  std::function<std::vector<Written>(std::int64_t iteration, std::size_t block)> of;
};

const Data kRows{
    R"(<layout name="row" type="double" dimensions="1000"/><variable name="a" layout="row" store="its"/>
      <variable name="never" layout="row" store="its"/>)",
    [](std::int64_t iteration, std::size_t block) {
      return std::vector<Written>{{0, {kBlockElements}, values_of_block(iteration, block)}};
    }};

// Eight blocks, divided among so many servers. `without`: this server never gets iteration 1. `dies_after`: so many steps, server 2 is dead for the others.
Published analysed(const std::string& type, const std::string& options, comm::Rank servers,
                   const Data& data = kRows, std::size_t without = SIZE_MAX,
                   std::size_t dies_after = SIZE_MAX) {
  {
    const std::lock_guard<std::mutex> lock(published_mutex);
    published_now.clear();
  }
  const Result<LoadedPlugin> plugin = load_plugin(LEAT_TEST_PLUGINS "/" + type + ".so");
  EXPECT_TRUE(plugin) << plugin.error().message;
  const std::string xml =
      R"(<simulation name="analyses"><architecture><buffer size="4MiB"/></architecture>
    <data>)" +
      data.xml + R"(</data><storage><store name="its" type=")" + type + "\">" + options +
      R"(</store><store name="sink" type="trace" products="its/*"/></storage></simulation>)";
  MemoryServers meeting(servers);
  std::vector<std::unique_ptr<StoreServer>> all;
  std::vector<std::vector<double>> memory;
  for (comm::Rank rank = 0; rank < servers; ++rank)
    all.push_back(std::make_unique<StoreServer>(
        meeting, rank, xml, std::vector<const leat_plugin*>{plugin->plugin(), &kSink}));
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::size_t server = 0; server < all.size(); ++server) {
      if (server == without && i == 1) continue;
      Iteration iteration{i, true, {}, {}, {}};
      for (std::size_t block = server; block < kBlocks; block += all.size()) {
        for (Written& written : data.of(i, block)) {
          memory.push_back(std::move(written.values));
          Block made;
          made.variable = written.variable;
          made.rank = static_cast<std::int32_t>(block);
          std::copy(written.extent.begin(), written.extent.end(), made.extent.begin());
          made.data = memory.back().data();
          made.bytes = memory.back().size() * sizeof(double);
          iteration.blocks.push_back(made);
        }
      }
      all[server]->submit(std::move(iteration));
    }
  }
  for (std::size_t step = 0; dies_after != SIZE_MAX && step < dies_after; ++step) {
    for (const auto& each : all) each->step();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (dies_after != SIZE_MAX) meeting.die(2);
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

void expect_once_and_alike(const std::string& type, const std::string& options,
                           const Data& data = kRows,
                           const std::vector<std::string>& of_several = {"a_servers_missing"}) {
  const Published alone = analysed(type, options, 1, data);
  EXPECT_FALSE(alone.empty());
  for (const comm::Rank servers : {2, 4, 8}) {
    Published several = analysed(type, options, servers, data);
    for (std::int64_t i = 0; i < 3; ++i) {
      for (const std::string& name : of_several) {
        EXPECT_EQ(0, number<std::int64_t>(several, i, name));
        several.erase({i, name});
      }
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

// 2400 particles, of each block others in each iteration; some of a block lie in the middle of another's, and one block is empty.
constexpr std::size_t kParticles = 2400;
const std::vector<std::string> kOfSeveral{"x_servers_missing", "x_left_out"};

std::vector<std::vector<double>> particles(std::int64_t iteration) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> place(-2, 14);  // some outside of the box
  std::normal_distribution<double> step(0, .05);
  std::vector<std::vector<double>> all(kParticles, std::vector<double>(3));
  for (auto& each : all)
    for (double& along : each) along = place(generator);
  for (auto& each : all)
    for (double& along : each)
      for (std::int64_t i = 0; i < iteration; ++i) along += step(generator);
  return all;
}

// As a code does that divides space: along the first axis; who is in which block changes with the iteration. Block 5 has none.
Data of_particles(bool with_ids) {
  const std::string ids =
      R"(<layout name="n" type="double" dimensions="?"/><variable name="id" layout="n" store="its"/>)";
  return {
      R"(<layout name="p" type="double" dimensions="?,3"/><variable name="x" layout="p" store="its"/>)" +
          (with_ids ? ids : ""),
      [with_ids](std::int64_t iteration, std::size_t block) {
        Written x{0, {0, 3}, {}}, id{1, {0}, {}};
        const auto all = particles(iteration);
        for (std::size_t i = 0; i < kParticles; ++i) {
          const double along = with_ids ? all[i][0] : static_cast<double>(i % 16) - 2;
          const auto its = static_cast<std::size_t>(std::clamp((along + 2) / 2, 0.0, 7.0));
          if ((its == 5 ? 2 : its) != block) continue;
          x.values.insert(x.values.end(), all[i].begin(), all[i].end());
          id.values.push_back(static_cast<double>(10 * i));
          ++x.extent[0], ++id.extent[0];
        }
        return with_ids ? std::vector<Written>{x, id} : std::vector<Written>{x};
      }};
}

TEST(AnalysesOfServers, a_radial_distribution_has_pairs_of_which_each_server_has_one_particle) {
  for (const bool is_divided : {true, false}) {
    for (const char* const box : {"", R"(<option name="box" value="12,12,12"/>)"}) {
      const std::string options =
          R"(<option name="rmax" value="1.7"/><option name="bins" value="31"/>)";
      expect_once_and_alike("radial", options + box, of_particles(is_divided), kOfSeveral);
    }
  }
}

TEST(AnalysesOfServers, bonds_are_those_of_the_run_wherever_their_particles_go) {
  const std::string options =
      R"(<option name="cutoff" value="0.8"/><option name="break" value="0.85"/><option name="adjacency" value="yes"/>)";
  const std::string ids = R"(<option name="positions" value="x"/><option name="ids" value="id"/>)";
  for (const char* const box : {"", R"(<option name="box" value="12,12,12"/>)"}) {
    expect_once_and_alike("bonds", options + ids + box, of_particles(true), kOfSeveral);
    expect_once_and_alike("bonds", options + box, of_particles(false), kOfSeveral);
  }
  const Published of = analysed("bonds", options + ids, 4, of_particles(true));
  EXPECT_LT(100, number<std::int64_t>(of, 2, "x_bonds"));
  EXPECT_LT(0, number<std::int64_t>(of, 2, "x_broken"));
  EXPECT_EQ(0, number<std::int64_t>(of, 2, "x_missing"));
}

TEST(AnalysesOfServers, a_server_that_gives_nothing_is_said_and_has_no_pairs) {
  const std::string rmax = R"(<option name="rmax" value="1.7"/>)";
  const Data data = of_particles(true);
  const Data fewer{data.xml, [data](std::int64_t iteration, std::size_t block) {
                     std::vector<Written> all = data.of(iteration, block);
                     if (iteration == 1 && block % 4 == 2)
                       for (Written& each : all) each.extent[0] = 0, each.values.clear();
                     return all;
                   }};
  const std::string options = rmax + R"(<option name="positions" value="x"/>)";
  const Published without = analysed("radial", options, 4, data, 2);
  const Published of_others = analysed("radial", options, 1, fewer);
  EXPECT_EQ(1, number<std::int64_t>(without, 1, "x_servers_missing"));
  for (const char* const name : {"x_radial", "x_pairs"})
    EXPECT_EQ(of_others.at({1, name}), without.at({1, name})) << name;
  const Published bonds = analysed(
      "bonds",
      R"(<option name="cutoff" value="0.8"/>)" +
          std::string(R"(<option name="positions" value="x"/><option name="ids" value="id"/>)"),
      4, data, 2);
  EXPECT_EQ(0, number<std::int64_t>(bonds, 0, "x_servers_missing"));
  EXPECT_EQ(1, number<std::int64_t>(bonds, 1, "x_servers_missing"));
  EXPECT_LT(0, number<std::int64_t>(bonds, 1, "x_missing"));
  EXPECT_EQ(0, number<std::int64_t>(bonds, 2, "x_missing"));
}

// Whenever that is: what is published is of all, or of all but that one.
TEST(AnalysesOfServers,
     a_server_that_dies_between_two_steps_is_in_all_of_a_result_or_in_nothing_of_it) {
  const std::string radial =
      R"(<option name="rmax" value="1.7"/><option name="positions" value="x"/>)";
  const std::string bonds =
      R"(<option name="cutoff" value="0.8"/><option name="adjacency" value="yes"/><option name="positions" value="x"/><option name="ids" value="id"/>)";
  const Data data = of_particles(true);
  const Data fewer{data.xml, [data](std::int64_t iteration, std::size_t block) {
                     std::vector<Written> all = data.of(iteration, block);
                     if (block % 4 == 2)
                       for (Written& each : all) each.extent[0] = 0, each.values.clear();
                     return all;
                   }};
  const std::map<std::string, std::vector<std::string>> names{
      {"radial", {"x_radial", "x_pairs"}}, {"bonds", {"x_coordination", "x_adjacency"}}};
  for (const auto& [type, its] : names) {
    const std::string& options = type == "radial" ? radial : bonds;
    const Published whole = analysed(type, options, 1, data);
    const Published rest = analysed(type, options, 1, fewer);
    for (std::size_t steps = 0; steps < 16; ++steps) {
      const Published of = analysed(type, options, 4, data, SIZE_MAX, steps);
      for (std::int64_t i = 0; i < 3; ++i) {
        const bool is_whole = number<std::int64_t>(of, i, "x_servers_missing") == 0;
        for (const std::string& name : its)
          EXPECT_EQ((is_whole ? whole : rest).at({i, name}), of.at({i, name}))
              << name << " of " << i << ", dead after " << steps << " steps";
      }
    }
  }
}

// 400,000 particles of each of two servers near the other's: more than a server may send.
TEST(AnalysesOfServers, particles_that_are_too_many_to_send_are_said) {
  const Data data{
      R"(<layout name="p" type="double" dimensions="?,3"/><variable name="x" layout="p" store="its"/>)",
      [](std::int64_t iteration, std::size_t block) {
        Written x{0, {iteration == 1 ? 200'000 : 50, 3}, {}};
        std::mt19937_64 generator(block);
        std::uniform_real_distribution<double> place(0, 1000);
        for (std::int64_t i = 0; i < 3 * x.extent[0]; ++i) x.values.push_back(place(generator));
        return std::vector<Written>{x};
      }};
  const Published of = analysed("radial", R"(<option name="rmax" value="0.5"/>)", 2, data);
  EXPECT_EQ(0, number<std::int64_t>(of, 0, "x_left_out"));
  EXPECT_EQ(800'000, number<std::int64_t>(of, 1, "x_left_out"));
  EXPECT_EQ(0, number<std::int64_t>(of, 2, "x_left_out"));
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

// SPDX-License-Identifier: Apache-2.0
#include "client-api/module/turn_order.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace {

using namespace leat;
using namespace leat::module;
using nlohmann::json;

json part() {
  return {{"memory", "segment"},
          {"offset", 64},
          {"bytes", 48},
          {"type", "float64"},
          {"unit", "K"},
          {"rank", 3},
          {"block", 1},
          {"extents", {2, 3}},
          {"dimensions", {"y", "x"}},
          {"position", {4, 5}},
          {"ghosts_before", {1, 0}},
          {"ghosts_after", {0, 1}}};
}

json order_of(const json& one_part) {
  return {{"kind", "turn"},      {"iteration", 7},
          {"complete", true},    {"parameters", {{"n", 3}, {"dt", 0.5}, {"name", "x"}}},
          {"released", {0, 64}}, {"ports", {{{"port", "u"}, {"parts", {one_part}}}}}};
}

json setup() {
  return {
      {"segment", "/dev/shm/x"},
      {"memory", 4096},
      {"parameters", {{{"name", "dt"}, {"kind", "double"}}, {{"name", "t"}, {"kind", "double"}}}},
      {"time_parameter", 1},
      {"module",
       {{"name", "sum"},
        {"options", {{"n", 3}, {"word", "w"}}},
        {"outputs", {{{"port", "s"}, {"unit", "m"}, {"steers", {"dt"}}}}}}}};
}

TEST(TurnOrder, AnOrderIsReadWithAllThatItSays) {
  const Result<Turn> turn = turn_of(order_of(part()), 0);
  ASSERT_TRUE(turn) << turn.error().message;
  EXPECT_EQ(turn->iteration, 7);
  EXPECT_TRUE(turn->complete);
  EXPECT_EQ(turn->released, (std::vector<std::uint64_t>{0, 64}));
  EXPECT_EQ(as_integer(turn->parameters.at("n")), 3);
  const TurnPart& read = turn->ports.at("u").at(0);
  EXPECT_EQ(read.extents, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(read.position, (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(read.ghosts_before, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(read.rank, 3);
  EXPECT_EQ(read.level, -1);
  EXPECT_EQ(read.iteration, 7);
  EXPECT_FALSE(read.source);
}

TEST(TurnOrder, TheFirstFrameIsReadWithAllThatItSays) {
  const Result<module::Setup> read = setup_of(setup());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->options.at("n"), "3");
  EXPECT_EQ(read->options.at("word"), "w");
  EXPECT_EQ(read->outputs.at("s").steers, std::vector<std::string>{"dt"});
  EXPECT_EQ(read->parameters.at("dt"), "double");
  EXPECT_EQ(read->time_parameter, "t");
}

TEST(TurnOrder, AFirstFrameThatMakesNoSenseIsAnErrorThatNamesWhatIsWrong) {
  for (const char* key : {"segment", "memory", "module"}) {
    json without = setup();
    without.erase(key);
    EXPECT_FALSE(setup_of(without)) << key;
  }
  json beyond = setup();
  beyond["time_parameter"] = 2;
  const Result<module::Setup> read = setup_of(beyond);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("\"time_parameter\""), std::string::npos);
}

// Each of these keys gone, and with a value of every other kind: an error that names it, or a turn that is bounded.
TEST(TurnOrder, WhatIsMissingOrOfAnotherKindIsAnErrorThatNamesIt) {
  const std::vector<json> others{nullptr,       true, -1, 1e300, "text", json::array({json()}),
                                 json::object()};
  for (const char* key : {"memory", "offset", "bytes", "type", "extents", "dimensions"}) {
    json without = part();
    without.erase(key);
    const Result<Turn> turn = turn_of(order_of(without), 0);
    ASSERT_FALSE(turn) << key;
    EXPECT_EQ(turn.error().status, Status::ERROR_SERVER);
  }
  for (const char* key : {"kind", "iteration", "ports", "released"}) {
    json without = order_of(part());
    without.erase(key);
    ASSERT_FALSE(turn_of(without, 0)) << key;
    for (const json& other : others) {
      without[key] = other;
      if (std::string(key) != "iteration" || other != -1) {
        EXPECT_FALSE(turn_of(without, 0)) << key << other;
      }
    }
  }
  const json whole = part();
  for (const auto& [key, value] : whole.items()) {
    for (const json& other : others) {
      json changed = part();
      changed[key] = other;
      const Result<Turn> turn = turn_of(order_of(changed), 0);
      if (!turn) continue;
      const TurnPart& read = turn->ports.at("u").at(0);
      EXPECT_EQ(bytes_of(read.type, read.extents), read.bytes) << key << other;
      EXPECT_EQ(read.names.size(), read.extents.size()) << key << other;
      EXPECT_TRUE(read.position.empty() || read.position.size() == read.extents.size());
    }
  }
}

TEST(TurnOrder, ExtentsThatAreBeyondAllBoundsOrMakeAnotherSizeAreRefused) {
  const std::vector<std::function<void(json&)>> changes{
      [](json& p) {
        p["extents"] = {2, 4};
      },
      [](json& p) {
        p["extents"] = {-2, -3};
      },
      [](json& p) {
        p["extents"] = {INT64_MAX, INT64_MAX};
      },
      [](json& p) { p["extents"] = std::vector<int>(9, 1); },
      [](json& p) { p["dimensions"] = {"y"}; },
      [](json& p) { p["position"] = {1}; },
      [](json& p) { p["rank"] = std::int64_t{1} << 40; },
      [](json& p) { p["type"] = "quaternion"; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    json changed = part();
    changes[i](changed);
    EXPECT_FALSE(turn_of(order_of(changed), 0)) << i;
  }
}

TEST(TurnOrder, WhatLiesBehindTheOrderLiesInsideOfIt) {
  json behind = part();
  behind["memory"] = "order";
  EXPECT_FALSE(turn_of(order_of(behind), 64 + 47));
  EXPECT_TRUE(turn_of(order_of(behind), 64 + 48));
  behind["offset"] = INT64_MAX;
  EXPECT_FALSE(turn_of(order_of(behind), 64 + 48));
}

TEST(TurnOrder, AnArrayWithoutElementsHasNoBytesWhateverItsOtherExtents) {
  EXPECT_EQ(bytes_of(ScalarType::float64, {INT64_MAX, 0, INT64_MAX}), 0U);
  EXPECT_EQ(bytes_of(ScalarType::float64, {INT64_MAX}), std::nullopt);
  EXPECT_EQ(bytes_of(ScalarType::float64, {}), 8U);
}

}  // namespace

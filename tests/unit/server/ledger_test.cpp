// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "server/state/ledger/ledger_file.hpp"

namespace leat::server {
namespace {

LedgerNames names(std::size_t variables, std::int32_t ranks) {
  LedgerNames all{"run", "session", ranks, ranks, {}, {"out", "second"}, {}};
  for (std::size_t v = 0; v < variables; ++v) all.variables.push_back("v" + std::to_string(v));
  all.takes = {std::vector<std::uint8_t>(variables, 1), std::vector<std::uint8_t>(variables, 0)};
  all.takes[1][0] = 1;
  return all;
}

Iteration written_iteration(std::int64_t number, std::uint32_t variables, std::int32_t ranks,
                            std::uint64_t bytes = 8) {
  Iteration made;
  made.number = number;
  for (std::uint32_t v = 0; v < variables; ++v) {
    for (std::int32_t r = 0; r < ranks; ++r) {
      Block block;
      block.variable = v;
      block.rank = r;
      block.bytes = bytes;
      made.blocks.push_back(block);
    }
  }
  return made;
}

PipelineResult result(std::int64_t number, const std::string& error = "") {
  return {PipelineResult::Kind::iteration, number, {{"out", error}}};
}

nlohmann::json json(Ledger ledger) {
  ledger.settle_failures();
  return nlohmann::json::parse(ledger_json(ledger, "running"));
}

TEST(Ledger, OfARunWithoutLossesHasOneEntryForEachVariable) {
  Ledger ledger(names(2, 4));
  for (int i = 0; i < 10; ++i) {
    ledger.handed_over(written_iteration(i, 2, 4));
    EXPECT_EQ(ledger.in_progress(), 1u);
    ledger.settled(result(i));
  }
  EXPECT_FALSE(ledger.anything_missing());
  EXPECT_EQ(ledger.iterations().stored(), 10u);
  const nlohmann::json all = json(ledger);
  EXPECT_EQ(all["status"], "LEAT_OK");
  EXPECT_EQ(all["in_progress"], 0);
  ASSERT_EQ(all["entries"].size(), 4u) << "written and stored";
  const nlohmann::json wanted =
      nlohmann::json::parse(R"({"variable":"v1","iterations":[0,9,1],"ranks":[[0,3]],
                                      "blocks":40,"bytes":320,"fate":"stored","store":"out"})");
  EXPECT_EQ(all["entries"][3], wanted);
}

std::size_t bytes_of(const Ledger& ledger) {
  std::size_t bytes = 0;
  for (const Rows& rows : ledger.table().rows())
    bytes += sizeof rows + rows.all().capacity() * sizeof(Row);
  return bytes;
}

// `one` handed over and settled as iterations 0, step, ... below `end`; each second one fails.
// Returns seconds.
double run_through(Ledger* ledger, Iteration one, std::int64_t end, std::int64_t step) {
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < end; i += step) {
    one.number = i;
    ledger->handed_over(one);
    ledger->settled(result(i, i / step % 2 ? "no room for " + std::to_string(i) + " bytes" : ""));
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Ledger, OfALargeRegularRunIsSmallAndQuick) {
  // All blocks of 128 ranks for each hundredth iteration, and of 4 ranks for each: the blocks of
  // all would be many times the machine's memory, which is what took the time.
  Ledger wide(names(1000, 128)), deep(names(1000, 128));
  const double wide_seconds = run_through(&wide, written_iteration(0, 1000, 128), 10'000, 100);
  const double deep_seconds = run_through(&deep, written_iteration(0, 1000, 4), 10'000, 1);
  std::printf("128 ranks: %.2f ms an iteration; 4 ranks: %.2f ms; %zu and %zu bytes\n",
              wide_seconds * 10, deep_seconds / 10, bytes_of(wide), bytes_of(deep));
  EXPECT_LT(bytes_of(wide), 1u << 20);
  EXPECT_LT(bytes_of(deep), 1u << 20);
  EXPECT_LT(wide_seconds / 100, 0.1);
  EXPECT_LT(deep_seconds / 10'000, 0.01);
}

TEST(Ledger, AStoreThatTakesEveryTenthIterationCostsOneEntry) {
  Ledger ledger(names(1, 2));
  for (int i = 0; i < 1000; ++i) {
    ledger.handed_over(written_iteration(i, 1, 2));
    PipelineResult both = result(i);
    if (i % 10 == 0) both.outcomes.push_back({"second", ""});
    ledger.settled(both);
  }
  EXPECT_EQ(ledger.table().rows()[0].all().size(), 3u);
}

TEST(Ledger, KeepsTheStoresOfAVariableApart) {
  Ledger ledger(names(2, 1));
  ledger.handed_over(written_iteration(3, 2, 1));
  ledger.settled({PipelineResult::Kind::iteration, 3, {{"out", ""}, {"second", "disk full"}}});
  const nlohmann::json entries = json(ledger)["entries"];
  ASSERT_EQ(entries.size(), 5u) << "second takes only one of them";
  EXPECT_EQ(entries[1]["fate"], "stored");
  EXPECT_EQ(entries[1]["store"], "out");
  EXPECT_EQ(entries[2]["fate"], "failed");
  EXPECT_EQ(entries[2]["store"], "second");
  EXPECT_EQ(entries[2]["why"], "disk full");
  EXPECT_EQ(ledger.lost_writes(), 1u);
  EXPECT_EQ(ledger.iterations().stored(), 0u);
}

TEST(Ledger, WantedByNoStoreIsNoLoss) {
  Ledger ledger(names(1, 1));
  ledger.handed_over(written_iteration(0, 1, 1));
  ledger.settled({PipelineResult::Kind::iteration, 0, {}});
  EXPECT_FALSE(ledger.anything_missing());
  EXPECT_EQ(json(ledger)["entries"].size(), 1u);
  EXPECT_EQ(json(ledger)["entries"][0]["fate"], "written");
}

TEST(Ledger, SaysInOneEntryWhatFailedOnManyRanks) {
  Ledger ledger(names(2, 4));
  for (int i = 0; i < 5; ++i) {
    for (const int rank : {3, 0, 1, 2}) ledger.write_failed(rank, 1, i, "too large", 100);
    ledger.handed_over(written_iteration(i, 1, 4));
    ledger.settled(result(i));
  }
  const nlohmann::json entries = json(ledger)["entries"];
  ASSERT_EQ(entries.size(), 3u) << entries;
  const nlohmann::json wanted =
      nlohmann::json::parse(R"({"variable":"v1","iterations":[0,4,1],"ranks":[[0,3]],
      "blocks":20,"bytes":2000,"fate":"not written","why":"too large"})");
  EXPECT_EQ(entries[2], wanted);
  EXPECT_EQ(ledger.lost_writes(), 20u);
}

TEST(Ledger, AWriteOfAnUnknownNameIsLostToo) {
  Ledger ledger(names(1, 1));
  ledger.write_failed(0, Ledger::kUnknownName, 2, "no such variable");
  const nlohmann::json entry = json(ledger)["entries"][0];
  EXPECT_TRUE(entry["variable"].is_null());
  EXPECT_EQ(entry["what"], "unknown name");
  EXPECT_TRUE(ledger.anything_lost());
}

TEST(Ledger, DroppedIterationsAreMissingButNotLost) {
  Ledger ledger(names(2, 4));
  ledger.handed_over(written_iteration(0, 2, 4));
  ledger.iteration_dropped(0, "the segment is full");
  ledger.iteration_dropped(1, "the segment is full");
  EXPECT_FALSE(ledger.anything_lost());
  EXPECT_TRUE(ledger.anything_missing());
  EXPECT_EQ(ledger.in_progress(), 0u);
  const nlohmann::json all = json(ledger);
  EXPECT_EQ(all["status"], "LEAT_ERROR_LOST") << "with LEAT_STRICT=1 it is an error";
  EXPECT_EQ(all["dropped"], 8);
  EXPECT_EQ(all["dropped_iterations"], 2);
  EXPECT_EQ(all["entries"][0]["fate"], "dropped");
  EXPECT_EQ(all["entries"][0]["why"], "the segment is full");
  EXPECT_EQ(all["entries"][0]["iterations"], nlohmann::json::array({0, 1, 1}));
}

TEST(Ledger, AStoreThatCannotBeClosedIsALoss) {
  Ledger ledger(names(1, 1));
  ledger.settled({PipelineResult::Kind::closed, 0, {{"out", "cannot finish"}, {"second", ""}}});
  EXPECT_TRUE(ledger.anything_lost());
  EXPECT_EQ(json(ledger)["stores"][0]["failed"], "cannot finish");
}

TEST(Ledger, ReasonsThatDifferInNumbersAreOne) {
  Ledger ledger(names(1, 1));
  for (int i = 0; i < 1000; ++i) {
    ledger.handed_over(written_iteration(i, 1, 1));
    ledger.settled(result(i, "iteration " + std::to_string(i) + ": disk full"));
  }
  const nlohmann::json entries = json(ledger)["entries"];
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1]["why"], "iteration 0: disk full");
}

TEST(Ledger, ReasonsThatAreMadeUpFillNoMemory) {
  Reasons reasons;
  std::uint32_t last = 0;
  std::string text;
  for (int i = 0; i < 5000; ++i) last = reasons.number(text += 'x');
  EXPECT_LE(last, Reasons::kMost);
  EXPECT_NE(reasons[last].find("another reason"), std::string::npos);
}

// One that has seen losses of each kind; its lines go to `lines`.
Ledger unlucky(std::vector<std::string>* lines) {
  Ledger ledger(names(3, 4));
  ledger.persist_with([lines](const std::string& line) { lines->push_back(line); });
  for (int i = 0; i < 6; ++i) {
    if (i == 2) ledger.write_failed(1, 2, i, "too large", 64);
    ledger.handed_over(written_iteration(i, 3, 4));
    if (i == 5) {
      ledger.iteration_dropped(i, "the segment is full");
    } else {
      ledger.settled(result(i, i % 2 ? "disk full" : ""));
    }
  }
  ledger.write_failed(0, Ledger::kUnknownName, 6, "no such variable");
  ledger.settled({PipelineResult::Kind::products, 4, {}, {{"out", "disk \xff full"}}});
  ledger.incidents().client_died(3, 6);
  return ledger;
}

TEST(Ledger, OfASuccessorHasAllLossesOfTheKilledOne) {
  std::vector<std::string> lines;
  const Ledger killed = unlucky(&lines);
  EXPECT_EQ(lines.size(), 1u + 2u + 1u + 1u + 1u + 1u) << "alike variables share a line";
  Ledger successor(names(3, 4));
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_TRUE(successor.restore(line)) << line;
  }
  successor.stored_until("out", 4);
  const nlohmann::json before = json(killed), after = json(successor);
  for (const char* name : {"lost", "dropped", "dropped_iterations", "died", "status"})
    EXPECT_EQ(before[name], after[name]) << name;
  EXPECT_EQ(after["stores"][0]["stored_until"], 4);
  nlohmann::json losses = nlohmann::json::array();
  for (const nlohmann::json& entry : before["entries"]) {
    if (entry["fate"] != "written" && entry["fate"] != "stored") losses.push_back(entry);
  }
  EXPECT_EQ(losses, after["entries"]);
}

TEST(Ledger, LinesThatMakeNoSenseAreLeftOut) {
  std::vector<std::string> lines;
  unlucky(&lines);
  Ledger successor(names(3, 4));
  for (const std::string& line : lines) {
    for (std::size_t length = 0; length < line.size(); ++length)
      EXPECT_FALSE(successor.restore(line.substr(0, length)));
  }
  for (const char* line : {"{}", "[]", "7", R"({"died":"x"})",
                           R"({"iterations":[0,0,1],"ranks":[[0,0]],"blocks":1,"bytes":1,
                               "fate":"not written","why":"x","places":[0,99]})"})
    EXPECT_FALSE(successor.restore(line)) << line;
  EXPECT_FALSE(successor.anything_missing());
}

TEST(Ledger, SaysEachWarningOnceWithTheIterationsThatItIsOf) {
  Ledger ledger(names(2, 1));
  Incidents& incidents = ledger.incidents();
  std::vector<std::string> lines;
  ledger.persist_with([&lines](const std::string& line) { lines.push_back(line); });
  EXPECT_TRUE(incidents.warn("holes", 1, 3, "some"));
  EXPECT_TRUE(incidents.warn("holes", 0, 3, "some"));
  for (const std::int64_t iteration : {4, 6, 2})
    EXPECT_FALSE(incidents.warn("holes", 1, iteration, "some"));
  EXPECT_FALSE(ledger.anything_missing());
  EXPECT_TRUE(ledger.has_problems());
  ASSERT_EQ(lines.size(), 2u);
  const nlohmann::json wanted = nlohmann::json::parse(
      R"({"what":"holes","variable":"v1","first":2,"last":6,"iterations":4,"text":"some"})");
  EXPECT_EQ(json(ledger)["warnings"][0], wanted);
  Ledger successor(names(2, 1));
  for (const std::string& line : lines) EXPECT_TRUE(successor.restore(line));
  EXPECT_FALSE(successor.incidents().warn("holes", 1, 7, "some")) << "it was said already";
  std::uint32_t said = 0;
  for (std::size_t i = 0; i <= Incidents::kMostWarnings; ++i)
    said += incidents.warn("overlap", 0, 0, std::to_string(i));
  EXPECT_EQ(said, Incidents::kMostWarnings - 2);
  EXPECT_EQ(incidents.warnings().back().iterations, 4u) << "the last one counts the rest";
}

TEST(Ledger, PersistsNoGoodFates) {
  Ledger ledger(names(2, 2));
  ledger.persist_with([](const std::string& line) { ADD_FAILURE() << line; });
  ledger.handed_over(written_iteration(0, 2, 2));
  ledger.settled(result(0));
}

PipelineResult left_out(std::int64_t number) {
  return {PipelineResult::Kind::iteration, number, {{"out", ""}, {"second", "", true}}};
}

TEST(Ledger, SaysWhatAStoreHasLeftOutOnceAndThatNothingIsLost) {
  Ledger ledger(names(2, 4));
  for (int i = 0; i < 3; ++i) {
    ledger.handed_over(written_iteration(i, 2, 4));
    ledger.settled(left_out(i));
  }
  EXPECT_FALSE(ledger.anything_missing());
  EXPECT_TRUE(ledger.has_problems());
  EXPECT_EQ(ledger.iterations().stored(), 3u);
  const nlohmann::json all = json(ledger);
  EXPECT_EQ(all["stores"][1], (nlohmann::json{{"name", "second"}, {"skipped", 3}}));
  const nlohmann::json& last = all["entries"].back();
  EXPECT_EQ(last["fate"], "skipped");
  EXPECT_EQ(last["what"], "whole iteration");
  EXPECT_EQ(last["iterations"], nlohmann::json({0, 2, 1}));
  EXPECT_EQ(last["blocks"], 12) << "of the variable that the store takes";
}

TEST(Ledger, OfASuccessorKnowsWhatWasLeftOutAndDoesNotCountItTwice) {
  std::vector<std::string> lines;
  Ledger dead(names(2, 4)), next(names(2, 4));
  dead.persist_with([&](const std::string& line) { lines.push_back(line); });
  dead.handed_over(written_iteration(5, 2, 4));
  dead.settled(left_out(5));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(next.restore(lines[0]));
  next.handed_over(written_iteration(5, 2, 4));
  next.settled(left_out(5));
  next.died_aside("second", 4);
  EXPECT_EQ(next.table().skipped("second"), 1u);
  EXPECT_EQ(next.lost_writes(), 1u) << "what the store was at is lost, and said to be";
}

TEST(Ledger, CountsAnIterationWhenTheLastStoreIsDoneWithItWhoeverIsFirst) {
  const PipelineResult late{PipelineResult::Kind::late, 0, {{"second", ""}}};
  PipelineResult first = result(0);
  first.at_work = 1;
  for (const bool is_late_first : {false, true}) {
    Ledger ledger(names(2, 4));
    ledger.handed_over(written_iteration(0, 2, 4));
    ledger.settled(is_late_first ? late : first);
    EXPECT_EQ(ledger.in_progress(), 1u);
    EXPECT_EQ(ledger.iterations().stored(), 0u);
    ledger.settled(is_late_first ? first : late);
    EXPECT_EQ(ledger.in_progress(), 0u);
    EXPECT_EQ(ledger.iterations().stored(), 1u);
    const nlohmann::json all = json(ledger);
    EXPECT_EQ(std::count_if(all["entries"].begin(), all["entries"].end(),
                            [](const nlohmann::json& each) { return each["fate"] == "stored"; }),
              3);
  }
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/loss_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace leat::server {
namespace {

constexpr std::size_t kMost = 3000;

Ledger ledger_of(std::size_t variables) {
  LedgerNames names{"run", "session", 8, 8, {}, {"out"}, {std::vector<std::uint8_t>(variables, 1)}};
  for (std::size_t v = 0; v < variables; ++v) names.variables.push_back("var" + std::to_string(v));
  return Ledger(names);
}

void lose(Ledger* ledger, std::int64_t number, std::uint32_t variable, const std::string& why) {
  Iteration iteration;
  iteration.number = number;
  Block block;
  block.variable = variable;
  block.bytes = 1 << 20;
  iteration.blocks.push_back(block);
  ledger->handed_over(iteration);
  ledger->settled({PipelineResult::Kind::iteration, number, {{"out", why}}});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(LossTable, SaysNothingWhenNothingIsLost) {
  Ledger ledger = ledger_of(1);
  lose(&ledger, 0, 0, "");
  EXPECT_EQ(loss_table(ledger, "run.ledger.json", kMost), "");
}

TEST(LossTable, IsAlignedAndWrapsReasons) {
  Ledger ledger = ledger_of(2);
  for (int i = 0; i < 10; ++i) lose(&ledger, i, 0, "disk full");
  lose(&ledger, 12, 1,
       "the output folder \"/scratch/somebody/results\" does not exist: make it before the run, "
       "or change it");
  ledger.incidents().client_died(3, 7);
  const std::string head = "not all of the data is stored; see run.ledger.json\n";
  const std::string table =
      "  store  variable  ranks  iterations   bytes  why\n"
      "  out    var0      0      0-9         10 MiB  disk full\n"
      "  out    var1      0      12           1 MiB  the output folder "
      "\"/scratch/somebody/results\" does not\n"
      "                                              exist: make it before the run, or change it\n";
  const std::string death = "rank 3 died in iteration 7";
  EXPECT_EQ(loss_table(ledger, "run.ledger.json", kMost), head + table + death);
}

TEST(LossTable, WhatADeadRankHadWrittenIsStoredWhereThereAreStoresAndNothingIsLost) {
  Ledger stored = ledger_of(1);
  stored.incidents().client_died(3, 7);
  EXPECT_NE(loss_table(stored, "run.ledger.json", kMost)
                .find("rank 3 died in iteration 7; the data it had written is stored"),
            std::string::npos);
  Ledger without_stores(LedgerNames{"run", "session", 8, 8, {"a"}, {}, {}});
  without_stores.incidents().client_died(3, 7);
  const std::string text = loss_table(without_stores, "run.ledger.json", kMost);
  EXPECT_NE(text.find("rank 3 died in iteration 7"), std::string::npos) << text;
  EXPECT_EQ(text.find("is stored"), std::string::npos) << text;
}

TEST(LossTable, WhatDiffersInVariablesOnlyIsOneLine) {
  Ledger ledger = ledger_of(3);
  for (std::uint32_t v = 0; v < 3; ++v) ledger.write_failed(2, v, 5, "too large", 512);
  ledger.settle_failures();
  const std::vector<std::string> lines = lines_of(loss_table(ledger, "run.ledger.json", kMost));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[2].find("-      var0 +2 more  2      5"), std::string::npos) << lines[2];
}

TEST(LossTable, OfDropsSaysThatTheXmlAllowsThem) {
  Ledger ledger = ledger_of(1);
  ledger.iteration_dropped(3, "the segment is full");
  const std::string text = loss_table(ledger, "run.ledger.json", kMost);
  EXPECT_EQ(text.find("1 iteration was dropped, as the XML allows; see run.ledger.json"), 0u);
  EXPECT_NE(text.find("dropped: the segment is full"), std::string::npos);
}

TEST(LossTable, OfManyLossesStaysShort) {
  Ledger ledger = ledger_of(300);
  for (std::uint32_t v = 0; v < 300; ++v) {
    std::string why = "because of " + std::string(v + 1, 'x');
    for (int i = 0; i < 40; i += 1 + static_cast<int>(v % 7)) lose(&ledger, i, v, why);
  }
  for (int rank = 0; rank < 100; ++rank) ledger.incidents().client_died(rank, 1);
  const std::string text = loss_table(ledger, "run.ledger.json", kMost);
  EXPECT_LE(text.size(), kMost);
  EXPECT_LE(lines_of(text).size(), 40u);
  EXPECT_NE(text.find("more, see run.ledger.json"), std::string::npos);
  EXPECT_NE(text.find("ranks 0-99 died in iteration 1"), std::string::npos);
}

TEST(LossTable, LinesFitIntoAHundredColumns) {
  Ledger ledger = ledger_of(1);
  for (int i = 0; i < 50; i += 3 + i % 4)
    lose(&ledger, i, 0, "a reason of many words " + std::string(200, 'y') + " and more of them");
  for (int rank = 0; rank < 8; rank += 2)
    ledger.write_failed(rank, 0, 99,
                        std::string(30, 'a') + std::string(" b") + std::string(20, 'c'));
  ledger.settle_failures();
  for (const std::string& line : lines_of(loss_table(ledger, "run.ledger.json", kMost))) {
    const bool is_one_word = line.find("yyyy") != std::string::npos;
    EXPECT_TRUE(is_one_word || line.size() <= 100) << line;
  }
}

}  // namespace
}  // namespace leat::server

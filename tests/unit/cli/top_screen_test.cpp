// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/screen.hpp"

#include <gtest/gtest.h>

#include "tests/unit/cli/answers.hpp"

namespace leat::cli::top {
namespace {

Shown shown_heat() {
  Shown one{.session = "s1", .state = "running"};
  one.answers = answers_of({.uptime = 192, .complete = 1234, .bytes = 64 << 20, .used_bytes = 430});
  one.figures = {.iterations_per_minute = 612,
                 .bytes_per_second = 1 << 20,
                 .used_bytes = 430,
                 .buffer_bytes = kBufferBytes};
  one.figures.nodes = {{.name = "out",
                        .kind = "store",
                        .calls = 1234,
                        .calls_per_second = 10.2,
                        .seconds_per_call = 0.0121,
                        .share = 0.123,
                        .bytes = 64 << 20},
                       {.name = "highest",
                        .kind = "script",
                        .calls = 5,
                        .failed = 2,
                        .behind = 3,
                        .usable = false,
                        .why = "ValueError: no maxx"}};
  return one;
}

Grid drawn(const Shown& one, std::size_t width, bool blocks = false) {
  Grid grid(width);
  draw_session(one, "12:04:31", {.blocks = blocks}, &grid);
  return grid;
}

TEST(TopScreen, OfASession) {
  EXPECT_EQ(drawn(shown_heat(), 80).text(),
            R"(heat  running  s1  leatd 4711                                           12:04:31
  iterations  1234 complete, 1234 stored, 0 on their way; 612 a minute
  data        64 MiB written; 1 MiB a second
  buffer      #########........... 43 % of 1000 B
  ranks       2 of 2 attached; in iteration 1234
  waits       3 iterations wait for script "highest"
  server      up 3 min 12 s; its cores 90 % idle

stores and scripts
  name     kind    calls  per second   a call  at work  behind  skipped  failed
  out      store    1234        10.2  12.1 ms     12 %       0        0       -
  highest  script      5           -        -        -       3        0       2
  highest is not called any more, until it changes or is loaded anew
  highest: ValueError: no maxx
)");
}

TEST(TopScreen, NoRowIsWiderThanTheTerminalAndNothingIsLostInANarrowOne) {
  for (const std::size_t width : {1, 10, 20, 40, 80, 120}) {
    const Grid grid = drawn(shown_heat(), width, true);
    for (std::size_t row = 0; row < grid.height(); ++row)
      EXPECT_LE(width_of(grid.text_of_row(row)), width);
  }
  const std::string narrow = drawn(shown_heat(), 40).text();
  EXPECT_NE(narrow.find("on their way;\n              612 a minute"), std::string::npos) << narrow;
}

TEST(TopScreen, WhatTheRunsLengthSays) {
  Shown one = shown_heat();
  one.of_iterations = 2000;
  EXPECT_NE(drawn(one, 80).text().find("  length      1234 of 2000, 62 %; 75 s left\n"),
            std::string::npos);
}

TEST(TopScreen, TheBufferWithItsHistoryAndForecast) {
  Shown one = shown_heat();
  one.figures.full_in_seconds = 14;
  one.fills = {std::nullopt, 0.0, 0.5, 1.0};  // of the first part nothing is known
  const std::string letters = drawn(one, 80).text(), blocks = drawn(one, 80, true).text();
  EXPECT_NE(letters.find("43 % of 1000 B, full in 14 s\n  last minute  _=#\n"), std::string::npos)
      << letters;
  EXPECT_NE(blocks.find("\u2588\u2591"), std::string::npos) << blocks;
  EXPECT_NE(blocks.find(" \u2581\u2585\u2588\n"), std::string::npos) << blocks;
}

TEST(TopScreen, WhatIsWrongStandsBelowTheTitleAndIsPainted) {
  Shown one = shown_heat();
  one.note = "its server is stopped";
  one.answers.metrics["iterations"]["failed"] = 3;
  const Grid grid = drawn(one, 80);
  EXPECT_EQ(grid.text_of_row(1), "              its server is stopped");
  EXPECT_EQ(grid.row(1)[14].paint, Paint::yellow);
  EXPECT_EQ(grid.text_of_row(3), "              3 FAILED in some store, 0 dropped");
  EXPECT_EQ(grid.row(3)[14].paint, Paint::red);
}

TEST(TopScreen, NamesOfOthersCannotSpeakToTheTerminal) {
  Grid grid(20);
  grid.put(0, 0,
           "a\033[31mb\nc\xFF"
           "d\xC3\xA4");
  EXPECT_EQ(grid.text_of_row(0), "a?[31mb?c?d\xC3\xA4");
}

TEST(TopScreen, OfAllSessions) {
  Shown silent{.session = "s2", .state = "not answering"};
  Grid grid(80);
  draw_sessions({shown_heat(), silent}, 1, "12:04:31", &grid);
  EXPECT_EQ(grid.text_of_row(0),
            "2 sessions of yours on this node" + std::string(40, ' ') + "12:04:31");
  EXPECT_EQ(grid.text_of_row(2).substr(0, 21), "  s1       heat      ");
  EXPECT_EQ(grid.text_of_row(3).substr(0, 35), "> s2       -         not answering ");
  Grid empty(80);
  draw_sessions({}, 0, "", &empty);
  EXPECT_EQ(empty.text(), "no session of yours runs on this node\n");
}

TEST(TopScreen, OfARunWithSeveralServers) {
  Shown one = shown_heat();
  one.answers.run = {{"servers", Json::array()}};
  for (const char* name : {"node1", "node2"})
    one.answers.run["servers"].push_back({{"server", name},
                                          {"state", "there"},
                                          {"ranks", 4},
                                          {"iteration", 7},
                                          {"stored", 6},
                                          {"failed", 0},
                                          {"dropped", 0},
                                          {"lost", 0},
                                          {"bytes", 1024}});
  const std::string text = drawn(one, 80).text();
  EXPECT_NE(text.find("\n2 servers of the run\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("\n  node2   there      4             7       6       0        0     0  1 KiB\n"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace leat::cli::top

// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/trace.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace leat::predict {
namespace {

Result<Trace> read(const std::string& text) {
  std::istringstream in(text);
  return read_trace(in, "n.trace");
}

std::string fault_of(const std::string& text) {
  const Result<Trace> trace = read(text);
  return trace ? "none" : trace.error().message;
}

TEST(ATrace, IsLinesOfStartsAndDurations) {
  const Result<Trace> trace = read("# analytics of node 3\n100 20\n 300\t5 \r\n\n");
  ASSERT_FALSE(trace) << "an empty line at the end is one too many";
  const Result<Trace> good = read("# analytics of node 3\n100 20\n 300\t5 \r\n# the end\n");
  ASSERT_TRUE(good) << good.error().message;
  ASSERT_EQ(good->events.size(), 2u);
  EXPECT_EQ(good->events[0].end(), 120);
  EXPECT_EQ(good->events[1].begin, 300);
  EXPECT_EQ(good->events[1].duration, 5);
}

TEST(ATrace, EndsWhereItSaysOrAfterAUsualPause) {
  EXPECT_EQ(read("# until 1000\n100 20\n300 5\n")->until, 1000);
  EXPECT_EQ(read("100 20\n300 5\n500 1\n")->until, 700);
  EXPECT_EQ(read("100 20\n120 900\n")->until, 1020);
  EXPECT_EQ(read("# until 1000\n100 20\n")->span(), 900);
}

TEST(ATrace, ThatIsNoneIsRefusedWithItsLine) {
  EXPECT_EQ(fault_of(""), "n.trace: there is no event in it");
  EXPECT_EQ(fault_of("100 20\n90 5\n"),
            "n.trace:2: it starts at 90, before the event of line 1 does, at 100: sort the lines");
  EXPECT_EQ(fault_of("100 20\n# between\n119 5\n"),
            "n.trace:3: it starts at 119, while the event of line 1 lasts until 120: events of one "
            "trace cannot overlap");
  EXPECT_EQ(fault_of("100 20\n\n200 5\n"), "n.trace:2: an empty line: was an event left out?");
  EXPECT_EQ(fault_of("100 20\n200\n"), "n.trace:2: the duration is missing: \"200\"");
  EXPECT_EQ(fault_of("100 20\n200 5"),
            "n.trace:2: the last line has no end: was its writer killed? Remove that line");
  for (const std::string line :
       {"a 5", "1.5 5", "100 20 3", "100,20", "0x10 5", "100 99999999999999999999"})
    EXPECT_NE(
        fault_of(line + "\n").find("n.trace:1: \"" + line + "\" is not \"start_ns duration_ns\""),
        std::string::npos)
        << fault_of(line + "\n");
  for (const std::string line : {"-5 20", "5 -20", "2000000000000000 1"})
    EXPECT_NE(fault_of(line + "\n").find("n.trace:1: times are from 0 to"), std::string::npos);
  EXPECT_EQ(fault_of("# until 110\n100 20\n"),
            "n.trace: \"# until 110\" is before the end of the last event, 120");
  EXPECT_EQ(fault_of("# until soon\n100 20\n"),
            "n.trace:1: \"# until\" is followed by a time in nanoseconds");
}

TEST(Traces, ThatCannotBeReadAreSaid) {
  EXPECT_NE(read_traces({"no/such/file"}).error().message.find("No such file"), std::string::npos);
  EXPECT_NE(read_traces({"/"}).error().message.find("it is a folder"), std::string::npos);
}

}  // namespace
}  // namespace leat::predict

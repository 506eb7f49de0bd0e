// SPDX-License-Identifier: Apache-2.0
// The file of a trace: what is in it when it is full, when the disk is too slow, and after a server that was cut off in a packet.
#include "server/state/trace/trace_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/os/folder.hpp"
#include "server/driver/executors.hpp"
#include "server/state/trace/perfetto.hpp"

namespace leat::server {
namespace {

class LinesLog final : public Log {
 public:
  LinesLog() : Log(LogLevel::debug) {}
  std::vector<std::string> lines;

 private:
  void put(LogLevel, const std::string& text) override { lines.push_back(text); }
};

class TraceFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path); }

  TraceFile file(bool goes_on, std::uint64_t most_bytes, std::uint64_t most_waiting) {
    return {path, os::open_file_of_user(path, !goes_on), goes_on, log, most_bytes, most_waiting};
  }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
  }
  static std::string packet(std::int64_t at_ns) {
    std::string bytes;
    perfetto::Packets(7).add(&bytes, perfetto::Event{.track = 1, .at_ns = at_ns, .name = "moment"});
    return bytes;
  }

  const std::string path =
      (std::filesystem::temp_directory_path() / ("leat-trace-" + std::to_string(getpid())))
          .string();
  std::shared_ptr<LinesLog> log = std::make_shared<LinesLog>();
  ThreadExecutor executor;
};

TEST_F(TraceFileTest, HasAllThatWasAppendedInOrderWhenItIsFinished) {
  std::string expected;
  TraceFile trace = file(false, 1 << 20, 1 << 20);
  trace.start(executor);
  for (std::int64_t i = 1; i <= 1000; ++i) {
    trace.append(packet(i));
    expected += packet(i);
  }
  trace.finish();
  EXPECT_EQ(text(), expected);
  EXPECT_TRUE(log->lines.empty());
}

TEST_F(TraceFileTest, EndsAtItsLimitWithWholePacketsAndSaysSoOnce) {
  TraceFile trace = file(false, 1000, 1 << 20);
  trace.start(executor);
  trace.append(packet(1));
  while (text().empty()) usleep(1000);
  for (std::int64_t i = 2; i <= 100; ++i) trace.append(packet(i));
  trace.finish();
  const std::string written = text();
  EXPECT_LE(written.size(), 1000u);
  EXPECT_EQ(perfetto::whole_packets(written), written.size());
  ASSERT_EQ(log->lines.size(), 1u);
  EXPECT_NE(log->lines[0].find("ends here"), std::string::npos) << log->lines[0];
}

TEST_F(TraceFileTest, EndsWhenTheDiskDoesNotTakeWhatComes) {
  TraceFile trace = file(false, 1 << 20, 200);  // not started: nothing is ever taken
  for (std::int64_t i = 1; i <= 100; ++i) trace.append(packet(i));
  ASSERT_EQ(log->lines.size(), 1u);
  EXPECT_NE(log->lines[0].find("slower"), std::string::npos) << log->lines[0];
}

TEST_F(TraceFileTest, GoesOnBehindTheLastWholePacket) {
  const std::string first = packet(1) + packet(2);
  for (std::size_t cut = 0; cut < packet(3).size(); ++cut) {
    std::ofstream(path, std::ios::binary) << first << packet(3).substr(0, cut);
    TraceFile trace = file(true, 1 << 20, 1 << 20);
    trace.start(executor);
    trace.append(packet(4));
    trace.finish();
    EXPECT_EQ(text(), first + packet(4)) << cut;
  }
}

TEST(WholePackets, OfBytesThatAreNoTraceThereAreNone) {
  EXPECT_EQ(perfetto::whole_packets(""), 0u);
  EXPECT_EQ(perfetto::whole_packets("something else"), 0u);
  EXPECT_EQ(perfetto::whole_packets(std::string("\x0a\x00", 2)), 0u);
  EXPECT_EQ(perfetto::whole_packets(std::string("\x0a\x01", 2)), 0u);
  EXPECT_EQ(perfetto::whole_packets(std::string(12, '\xff')), 0u);
  EXPECT_EQ(perfetto::whole_packets(std::string("\x0a", 1) + std::string(11, '\xff')), 0u);
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The journal of a session: what is read is what was appended, and nothing of what is torn or of another version.
#include "server/state/journal/session_journal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace leat::server {
namespace {

// One of each kind, with something in each field.
std::vector<JournalRecord> one_of_each() {
  return {
      SignalReceived{{7, 1, 2, 3}, 44},
      SignalRequested{5},
      SignalsDecided{8, {{1, 3, 2}, {2, -1, 1}}, {4, 5}},
      SignalsDeferred{8},
      RunSignalsDeferred{9},
      SignalsSnapshot{{{1, 2, 3, 4}}, {{{1, -1, 1}, 5}}, {{1, 2}, {3}}, {6}, {{3, {{0, 1, 2}}}}},
      RunIterationsSnapshot{{{1, 0, 0, 1}}, {{1}}, {2}, 4, 3, {{3, 1}}, {{4, {1}}}},
      RoundContributed{"a\xff"},
      RoundOutcome{"b\xff"},
      RunView{"v\xff", "why"},
      RunRoundsSnapshot{1, {"v", ""}, {{0, 5}}, 7, {"c"}, {"d"}, {"e", "f"}},
      RunOrderReceived{{"dt", 0.5, "s", 4}},
      RunSteeringSnapshot{{{"dt", 0.5, "s", 4}},
                          {{3, {"n", std::int64_t{1}, "t", 2}, true, 9, {0, 2}, {1}}},
                          {{3, true}},
                          4,
                          {{"dt", 9}},
                          {2}},
      ServersMet{std::string("own\0\xff", 5), "offers", "why"},
      ParameterSet{2, std::string("a\0b\xff", 4)},
      IntegerSet{3, 17, 1, -5},
      IterationEnded{12},
      ParameterSteered{13, 1, 0.1},
      ParametersSnapshot{12, {std::int64_t{1}, 5.0, {}, std::string("t")}, {{11, {2.5}}}},
      LossNoted{"{\"fate\": \"failed\"}"},
      IterationsDropped{{3, 4}},
      OtherRanksCame{{5, 6}},
      SpillRecord{4, "iteration-4.spill", 77, {{1, 2, 3, 4, 1ull << 40, 6}}},
      RankBegan{3, 100}};
}

class SessionJournalTest : public testing::Test {
 protected:
  SessionJournalTest() { std::filesystem::remove(path_); }
  ~SessionJournalTest() override { std::filesystem::remove(path_); }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::vector<std::string> encoded(const std::vector<JournalRecord>& records) {
    std::vector<std::string> all;
    for (const JournalRecord& each : records) all.push_back(encode(each));
    return all;
  }

  const std::string path_ = testing::TempDir() + "leat-journal-" + std::to_string(getpid());
};

TEST_F(SessionJournalTest, GivesBackEachKindOfRecord) {
  ASSERT_EQ(one_of_each().size(), std::variant_size_v<JournalRecord>);
  SessionJournal journal(path_);
  EXPECT_TRUE(journal.is_new());
  for (const JournalRecord& each : one_of_each()) EXPECT_TRUE(journal.append(each));
  const std::vector<JournalRecord> read = SessionJournal::read(path_);
  ASSERT_EQ(read.size(), one_of_each().size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].index(), i);
  EXPECT_EQ(encoded(read), encoded(one_of_each()));
  EXPECT_EQ(std::get<SpillRecord>(read[22]), std::get<SpillRecord>(one_of_each()[22]));
  EXPECT_EQ(std::get<ParametersSnapshot>(read[18]).now,
            std::get<ParametersSnapshot>(one_of_each()[18]).now);
}

TEST_F(SessionJournalTest, KeepsTheTypesAndTheBitsOfValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {0.0, -0.0, 5.0, 0.1, 1e300, nan, HUGE_VAL}) {
    const auto record = decode_record(encode(ParameterSet{0, value}));
    const double got = std::get<double>(std::get<ParameterSet>(*record).value);
    EXPECT_EQ(std::memcmp(&got, &value, sizeof got), 0) << value;
  }
}

TEST_F(SessionJournalTest, ATornOrForeignRestIsNotRead) {
  {
    SessionJournal journal(path_);
    for (const JournalRecord& each : one_of_each()) journal.append(each);
  }
  const std::string whole = bytes();
  const std::vector<std::string> all = encoded(one_of_each());
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    const std::vector<std::string> read = encoded(SessionJournal::read(path_));
    ASSERT_LT(read.size(), all.size());
    EXPECT_TRUE(std::equal(read.begin(), read.end(), all.begin())) << size;
  }
}

TEST_F(SessionJournalTest, OneOfAnotherVersionIsAsIfItWereGone) {
  std::ofstream(path_, std::ios::binary) << std::string("\x0e\0\0\0leat-journal-1", 18) << "more";
  EXPECT_TRUE(SessionJournal::read(path_).empty());
  SessionJournal journal(path_);
  EXPECT_TRUE(journal.is_new());
  journal.append(IterationEnded{1});
  EXPECT_EQ(SessionJournal::read(path_).size(), 1u);
  EXPECT_FALSE(SessionJournal(path_).is_new());
}

TEST_F(SessionJournalTest, IsRewrittenAsAWhole) {
  SessionJournal journal(path_);
  for (int i = 0; i < 100; ++i) journal.append(IterationEnded{i});
  journal.rewrite({IterationEnded{99}});
  journal.append(IterationEnded{100});
  EXPECT_EQ(encoded(SessionJournal::read(path_)),
            encoded({IterationEnded{99}, IterationEnded{100}}));
  std::filesystem::remove(path_);
  EXPECT_FALSE(journal.append(IterationEnded{101}));
  EXPECT_TRUE(journal.needs_rewriting());
  journal.rewrite({IterationEnded{101}});
  EXPECT_EQ(SessionJournal::read(path_).size(), 1u);
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Iterations on a disk: what is read is what was written, and what makes no sense is refused.
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "lib/platform/spill_folder.hpp"
#include "server/spill_file.hpp"
#include "server/spiller.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

class SpillFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "leat-spill-" + std::to_string(getpid());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Block block(std::uint32_t variable, std::uint32_t number, const std::string& data) {
    Block made;
    made.client = 1;
    made.rank = 5;
    made.variable = variable;
    made.block = number;
    made.has_position = true;
    made.extent = {static_cast<std::int64_t>(data.size()), 7};
    made.position = {-3, 4};
    made.global = {100, 200};
    made.lease = 99;
    made.data = data.data();
    made.bytes = data.size();
    return made;
  }
  std::string path(std::int64_t number) const {
    return folder_ + "/" + platform::spill_file_name(number);
  }
  std::string write(const Iteration& iteration) { return write_spill_file(folder_, iteration); }

  std::string folder_;
  const std::string small_ = "abc", large_ = std::string(100001, 'x') + "end", empty_;
};

TEST_F(SpillFile, GivesBackAllThatWasWritten) {
  Iteration iteration{42,
                      false,
                      {block(0, 0, small_), block(0, 3, empty_), block(2, 1, large_)},
                      {},
                      {{}, std::int64_t{-7}, 0.1, std::string("a\0b", 3), std::string()}};
  ASSERT_EQ(write(iteration), "");
  EXPECT_EQ(fs::file_size(path(42)), spill_file_bytes(iteration));
  struct stat facts {};
  stat(path(42).c_str(), &facts);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_FALSE(fs::exists(folder_ + "/" + platform::spill_part_name(42)));

  const Result<Iteration> got = read_spill_file(path(42));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->number, 42);
  EXPECT_FALSE(got->complete);
  EXPECT_EQ(got->parameters, iteration.parameters);
  ASSERT_EQ(got->blocks.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Block &a = got->blocks[i], &b = iteration.blocks[i];
    EXPECT_EQ(std::tie(a.client, a.rank, a.variable, a.block, a.has_position, a.bytes),
              std::tie(b.client, b.rank, b.variable, b.block, b.has_position, b.bytes));
    EXPECT_EQ(a.extent, b.extent);
    EXPECT_EQ(a.position, b.position);
    EXPECT_EQ(a.global, b.global);
    EXPECT_EQ(std::memcmp(a.data, b.data, a.bytes), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data) % 64, 0u);
  }
  EXPECT_EQ(got->holds.size(), 2u);
}

TEST_F(SpillFile, IsMappedUntilTheLastHoldEndsAndThenItsCompanionEnds) {
  ASSERT_EQ(write({1, true, {block(0, 0, large_), block(1, 0, small_)}, {}, {}}), "");
  const auto companion = std::make_shared<int>(1);
  std::shared_ptr<const void> hold;
  const void* data = nullptr;
  {
    const Result<Iteration> got = read_spill_file(path(1), companion);
    ASSERT_TRUE(got);
    hold = got->holds.at(1);
    data = got->blocks[0].data;
  }
  fs::remove(path(1));
  EXPECT_EQ(std::memcmp(data, large_.data(), large_.size()), 0);
  EXPECT_EQ(companion.use_count(), 2);
  hold.reset();
  EXPECT_EQ(companion.use_count(), 1);
}

TEST_F(SpillFile, ThatIsCutOffOrFromAnotherLeatIsRefused) {
  ASSERT_EQ(write({1, true, {block(0, 0, large_)}, {}, {std::string("title")}}), "");
  std::ifstream file(path(1), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const auto refused = [&](std::string bytes) {
    std::ofstream(path(2), std::ios::binary) << bytes;
    return !read_spill_file(path(2));
  };
  EXPECT_FALSE(refused(whole));
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{63}, std::size_t{100}, whole.size() - 1})
    EXPECT_TRUE(refused(whole.substr(0, length))) << length;
  for (const std::size_t at : {0u, 8u, 12u, 28u, 32u, 48u}) {  // words of the header
    std::string changed = whole;
    changed[at + 3] = static_cast<char>(changed[at + 3] ^ 0x70);
    EXPECT_TRUE(refused(changed)) << at;
  }
  EXPECT_FALSE(read_spill_file(path(3))) << "there is none";
}

TEST_F(SpillFile, LeavesNothingWhenItCannotBeWritten) {
  const Block one = block(0, 0, small_);
  EXPECT_NE(write_spill_file(folder_ + "/none", {1, true, {one}, {}, {}}), "");
  fs::create_directory(path(4));  // the name is taken
  EXPECT_NE(write({4, true, {one}, {}, {}}), "");
  EXPECT_FALSE(fs::exists(folder_ + "/" + platform::spill_part_name(4)));
}

// Iterations of two variables in what stands for the segment, in a line whose plugins have not
// begun.
class Spilling : public SpillFile {
 protected:
  static constexpr std::uint64_t kBytes = 5000;
  static constexpr std::int64_t kCount = 6;

  void SetUp() override {
    SpillFile::SetUp();
    for (std::size_t i = 0; i < segment_.size(); ++i) segment_[i] = static_cast<char>(i * 7 / 5);
    for (std::int64_t number = 0; number < kCount; ++number) {
      Iteration iteration{number, true, {}, {}, {number}};
      for (std::uint32_t variable : {0u, 1u}) {
        Block made;
        made.variable = variable;
        made.data = place(number, variable);
        made.bytes = kBytes;
        iteration.blocks.push_back(made);
        iteration.holds[variable] = std::make_shared<int>(0);
        if (number == 3 && variable == 1) held_ = iteration.holds[variable];
      }
      pipeline_.submit(std::move(iteration));
    }
  }
  const char* place(std::int64_t number, std::uint32_t variable) const {
    return segment_.data() + (static_cast<std::uint64_t>(number) * 2 + variable) * kBytes;
  }
  SpillerParts parts(std::uint64_t most_bytes) {
    return {folder_, most_bytes, segment_.data(), segment_.size(), log_, [this] { ++wakes_; }};
  }
  void await_wakes(int count) const {
    while (wakes_ < count) std::this_thread::yield();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& each : fs::directory_iterator(folder_))
      names.push_back(each.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string segment_ = std::string(kCount * 2 * kBytes, ' ');
  std::shared_ptr<const void> held_;  // as of a script
  std::shared_ptr<spdlog::logger> log_ =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  std::atomic<int> wakes_{0};
  Pipeline pipeline_{{}, {}, [] {}};
};

TEST_F(Spilling, MovesTheNewestFirstLeavesWhatOthersHoldAndGivesAllBackInOrder) {
  Spiller spiller(parts(1 << 20), pipeline_);
  EXPECT_EQ(spiller.report(), "");
  spiller.start();
  for (int moved = 1; moved <= 4; ++moved) {
    spiller.make_room();
    await_wakes(moved);
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"iteration-2.spill", "iteration-3.spill",
                                               "iteration-4.spill", "iteration-5.spill"}));
  for (std::int64_t number = 0; number < kCount; ++number) {
    const auto got = pipeline_.take_oldest([](const Iteration&) { return true; });
    ASSERT_TRUE(got);
    EXPECT_EQ(got->number, number);
    EXPECT_EQ(got->parameters, std::vector<ParameterValue>{number});
    for (const Block& each : got->blocks) {
      const char* const before = place(number, each.variable);
      const bool stays = number < 2 || (number == 3 && each.variable == 1);
      EXPECT_EQ(each.data == before, stays) << number << " " << each.variable;
      EXPECT_EQ(std::memcmp(each.data, before, kBytes), 0);
    }
  }
  EXPECT_TRUE(files().empty());
  EXPECT_TRUE(spiller.report().starts_with("4 iterations, "));
}

TEST_F(Spilling, TakesNoMoreOfTheDiskThanItMay) {
  Spiller spiller(parts(25000), pipeline_);
  spiller.start();
  for (int moved = 1; moved <= 2; ++moved) {
    spiller.make_room();
    await_wakes(moved);
  }
  EXPECT_EQ(files().size(), 2u);
  for (int i = 0; i < 50; ++i) {
    spiller.make_room();
    std::this_thread::yield();
  }
  EXPECT_EQ(files().size(), 2u);
  // When one is done with there is room for the next.
  pipeline_.take_oldest([](const Iteration& each) { return each.number == 5; });
  await_wakes(3);
  for (int before = wakes_; wakes_ == before; std::this_thread::yield()) spiller.make_room();
  EXPECT_EQ(files(), (std::vector<std::string>{"iteration-3.spill", "iteration-4.spill"}));
}

TEST_F(Spilling, WhileTheStoresAreAtWorkLosesNothingAndDoublesNothing) {
  Spiller spiller(parts(1 << 20), pipeline_);
  spiller.start();
  pipeline_.start();
  std::vector<std::int64_t> done;
  std::int64_t sent = kCount;
  while (done.size() < static_cast<std::size_t>(sent)) {
    spiller.make_room();
    if (sent < 500) {
      Iteration iteration{sent++, true, {}, {}, {}};
      iteration.blocks.emplace_back();
      iteration.blocks[0].data = segment_.data();
      iteration.blocks[0].bytes = kBytes;
      iteration.holds[0] = std::make_shared<int>(0);
      pipeline_.submit(std::move(iteration));
    }
    for (const PipelineResult& each : pipeline_.take_results()) {
      if (each.kind == PipelineResult::Kind::iteration) done.push_back(each.iteration);
    }
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(sent));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(done, all);
}

}  // namespace
}  // namespace leat::server

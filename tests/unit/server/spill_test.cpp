// SPDX-License-Identifier: Apache-2.0
// Iterations on a disk: what is read is what was written, and what makes no sense is refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "lib/node/output_folders.hpp"
#include "server/driver/executors.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/state/spill/spill_file.hpp"
#include "server/state/spill/spiller.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

class SpillFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "leat-spill-" + std::to_string(getpid());
    fs::create_directory(folder_);
    folder_fd_ = os::UniqueFd(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { fs::remove_all(folder_); }

  Block block(std::uint32_t variable, std::uint32_t number, const std::string& data) {
    Block made;
    made.client = 1;
    made.rank = 5;
    made.variable = variable;
    made.block = number;
    made.has_position = true;
    made.level = 3;
    made.extent = {static_cast<std::int64_t>(data.size()), 7};
    made.position = {-3, 4};
    made.global = {100, 200};
    made.lease = 99;
    made.data = data.data();
    made.bytes = data.size();
    return made;
  }
  std::string path(std::int64_t number) const {
    return folder_ + "/" + node::spill_file_name(number);
  }
  std::shared_ptr<const SpillFile> write(const Iteration& iteration) {
    auto made =
        SpillFile::write(folder_fd_.get(), node::spill_file_name(iteration.number), iteration);
    return made ? *made : nullptr;
  }
  static std::string read(const SpillFile& file, std::size_t place) {
    std::string data(file.record().blocks[place].bytes, '?');
    const std::string why = file.read(static_cast<std::uint32_t>(place), data.data());
    return why.empty() ? data : why;
  }

  std::string folder_;
  os::UniqueFd folder_fd_;
  const std::string small_ = "abc", large_ = std::string(100001, 'x') + "end", empty_;
};

TEST_F(SpillFiles, GivesBackAllThatWasWritten) {
  const Iteration iteration{
      42, false, {block(0, 0, small_), block(0, 3, empty_), block(2, 1, large_)}, {}, {}};
  const auto written = write(iteration);
  ASSERT_TRUE(written);
  EXPECT_EQ(fs::file_size(path(42)), spill_file_bytes(iteration));
  struct stat facts {};
  stat(path(42).c_str(), &facts);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);

  const auto got = SpillFile::open(folder_fd_.get(), folder_, written->record());
  const std::vector<Block> blocks = got->blocks();
  ASSERT_EQ(blocks.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Block &a = blocks[i], &b = iteration.blocks[i];
    EXPECT_EQ(std::tie(a.client, a.rank, a.variable, a.block, a.has_position, a.bytes),
              std::tie(b.client, b.rank, b.variable, b.block, b.has_position, b.bytes));
    EXPECT_EQ(a.level, b.level);
    EXPECT_EQ(a.extent, b.extent);
    EXPECT_EQ(a.position, b.position);
    EXPECT_EQ(a.global, b.global);
    EXPECT_EQ(a.data, nullptr);
    EXPECT_EQ(read(*got, i), std::string(static_cast<const char*>(b.data), b.bytes));
    EXPECT_EQ(read(*written, i), read(*got, i));
  }
}

TEST_F(SpillFiles, IsReadAlsoWhenSomebodyHasRemovedIt) {
  const auto file = write({1, true, {block(0, 0, large_), block(1, 0, small_)}, {}, {}});
  fs::remove_all(folder_);
  EXPECT_EQ(read(*file, 0), large_);
  EXPECT_EQ(read(*file, 1), small_);
}

// Each byte of it is the head's, a block's, or between them: what is given back is what was
// written, else it is said of the right blocks.
TEST_F(SpillFiles, GivesBackNothingThatIsNotWhatWasWritten) {
  const auto written = write({1, true, {block(0, 0, small_), block(1, 0, large_)}, {}, {}});
  std::ifstream file(path(1), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const std::size_t head = sizeof(SpillHeader) + 2 * sizeof(SpilledBlock);
  const std::size_t first = (head + 63) / 64 * 64, second = first + 64;
  const auto damaged = [&](const std::string& bytes) {
    std::ofstream(path(1), std::ios::binary) << bytes;
    const auto got = SpillFile::open(folder_fd_.get(), folder_, written->record());
    std::string lost;
    for (std::size_t i = 0; i < 2; ++i) {
      std::string data(written->record().blocks[i].bytes, '?');
      const std::string why = got->read(static_cast<std::uint32_t>(i), data.data());
      EXPECT_TRUE(!why.empty() || data == (i == 0 ? small_ : large_));
      if (!why.empty()) lost += std::to_string(i);
    }
    const Block named = got->blocks()[1];
    EXPECT_EQ(std::tie(named.rank, named.variable, named.bytes),
              std::make_tuple(5, 1u, large_.size()));
    return lost;
  };
  EXPECT_EQ(damaged(whole), "");
  for (std::size_t at = 0; at < whole.size(); at += at < second + 70 ? 5 : 19997) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    const bool in_first = at >= first && at < first + small_.size();
    const bool in_second = at >= second && at < second + large_.size();
    EXPECT_EQ(damaged(changed), at < head ? "01" : in_first ? "0" : in_second ? "1" : "") << at;
  }
  EXPECT_EQ(damaged(""), "01");
  EXPECT_EQ(damaged(whole.substr(0, head)), "01");
  EXPECT_EQ(damaged(whole.substr(0, second)), "1");
  EXPECT_EQ(damaged(whole.substr(0, second + large_.size() - 1)), "1");
  fs::remove(path(1));
  EXPECT_EQ(mkfifo(path(1).c_str(), 0600), 0);  // is not waited for
  const auto fifo = SpillFile::open(folder_fd_.get(), folder_, written->record());
  EXPECT_NE(fifo->read(0, nullptr), "");
  EXPECT_NE(SpillFile::open(-1, folder_, written->record())->read(0, nullptr), "");
}

TEST_F(SpillFiles, LeavesNothingWhenItCannotBeWritten) {
  const Block one = block(0, 0, small_);
  EXPECT_FALSE(SpillFile::write(-1, "none", {1, true, {one}, {}, {}}));
  fs::create_directory(path(4));  // the name is taken
  EXPECT_FALSE(
      SpillFile::write(folder_fd_.get(), node::spill_file_name(4), {4, true, {one}, {}, {}}));
}

// Iterations of two variables in what stands for the segment, in a line whose plugins have not
// begun.
class Spilling : public SpillFiles {
 protected:
  static constexpr std::uint64_t kBytes = 5000;
  static constexpr std::int64_t kCount = 6;

  void SetUp() override {
    SpillFiles::SetUp();
    for (std::size_t i = 0; i < segment_.size(); ++i) segment_[i] = static_cast<char>(i * 7 / 5);
    for (std::int64_t number = 0; number < kCount; ++number) {
      Iteration iteration{number, true, {}, {}, {number}};
      for (std::uint32_t variable : {0u, 1u}) {
        Block made;
        made.variable = variable;
        made.data = place(number, variable);
        made.bytes = kBytes;
        iteration.blocks.push_back(made);
        iteration.pins[variable] = std::make_shared<int>(0);
        if (number == 3 && variable == 1) held_ = iteration.pins[variable];
      }
      pipeline_.submit(std::move(iteration));
    }
  }
  const char* place(std::int64_t number, std::uint32_t variable) const {
    return segment_.data() + (static_cast<std::uint64_t>(number) * 2 + variable) * kBytes;
  }
  SpillerParts parts(std::uint64_t most_bytes) {
    return {folder_fd_.get(), folder_, most_bytes,          segment_.data(),
            segment_.size(),  log_,    [this] { ++wakes_; }};
  }
  // As the event loop does.
  void await_wakes(Spiller& spiller, int count) {
    while (wakes_ < count) std::this_thread::yield();
    spiller.take_written([this](const SpillRecord& record) {
      noted_.push_back(record);
      return may_note_;
    });
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
  std::shared_ptr<Log> log_ = std::make_shared<tests::QuietLog>();
  ThreadExecutor executor_;
  std::atomic<int> wakes_{0};
  std::vector<SpillRecord> noted_;
  bool may_note_ = true;
  Pipeline pipeline_{{}, {}, {}};
};

TEST_F(Spilling, MovesTheNewestFirstLeavesWhatOthersHoldAndGivesAllBackInOrder) {
  Spiller spiller(parts(1 << 20), pipeline_.queue());
  EXPECT_EQ(spiller.report(), "");
  spiller.start(executor_);
  for (int moved = 1; moved <= 4; ++moved) {
    spiller.make_room();
    await_wakes(spiller, moved);
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"iteration-2.spill", "iteration-3.spill",
                                               "iteration-4.spill", "iteration-5.spill"}));
  for (std::int64_t number = 0; number < kCount; ++number) {
    auto got = pipeline_.take_oldest([](const Iteration&) { return true; });
    ASSERT_TRUE(got);
    EXPECT_EQ(got->number, number);
    EXPECT_EQ(got->parameters, std::vector<ParameterValue>{number});
    const SpilledBlocks spilled(&*got);
    EXPECT_TRUE(spilled.problems().empty());
    for (const Block& each : got->blocks) {
      const char* const before = place(number, each.variable);
      const bool stays = number < 2 || (number == 3 && each.variable == 1);
      EXPECT_EQ(each.data == before, stays) << number << " " << each.variable;
      EXPECT_EQ(std::memcmp(each.data, before, kBytes), 0);
    }
  }
  EXPECT_EQ(files().size(), 4u) << "they go when their iterations are done";
  spiller.forget(3);
  EXPECT_EQ(files(), (std::vector<std::string>{"iteration-4.spill", "iteration-5.spill"}));
  spiller.forget(kCount);
  EXPECT_TRUE(files().empty());
  EXPECT_TRUE(spiller.report().starts_with("4 iterations, "));
}

TEST_F(Spilling, PutsAPartThatComesLaterIntoAFileOfItsOwn) {
  Spiller spiller(parts(1 << 20), pipeline_.queue());
  spiller.start(executor_);
  for (int moved = 1; moved <= 4; ++moved) {
    if (moved == 4) held_.reset();  // a script has read variable 1 of iteration 3
    spiller.make_room();
    await_wakes(spiller, moved);
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"iteration-3.1.spill", "iteration-3.spill",
                                               "iteration-4.spill", "iteration-5.spill"}));
  Spiller next(parts(1 << 20), pipeline_.queue());
  next.restore(noted_);
  EXPECT_EQ(next.files_of(3).size(), 2u);
  EXPECT_EQ(next.snapshot().size(), 4u);
}

TEST_F(Spilling, WritesNoIterationAgainWhileItsFileIsTaken) {
  Spiller spiller(parts(1 << 20), pipeline_.queue());
  spiller.start(executor_);
  spiller.make_room();
  while (wakes_ < 1) std::this_thread::yield();
  spiller.take_written([&](const SpillRecord&) {
    spiller.make_room();
    for (int i = 0; i < 100 && wakes_ < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  });
  await_wakes(spiller, 2);
  EXPECT_EQ(files(), (std::vector<std::string>{"iteration-4.spill", "iteration-5.spill"}));
}

TEST_F(Spilling, MovesNothingThatTheJournalDoesNotSay) {
  Spiller spiller(parts(1 << 20), pipeline_.queue());
  spiller.start(executor_);
  may_note_ = false;
  spiller.make_room();
  await_wakes(spiller, 1);
  EXPECT_TRUE(files().empty());
  pipeline_.take_oldest([](const Iteration& each) {
    EXPECT_EQ(each.blocks[0].file, nullptr);
    return false;
  });
}

TEST_F(Spilling, TakesUpWhatTheJournalSaysAndRemovesTheRest) {
  {
    Spiller spiller(parts(1 << 20), pipeline_.queue());
    spiller.start(executor_);
    for (int moved = 1; moved <= 3; ++moved) {
      spiller.make_room();
      await_wakes(spiller, moved);
    }
  }
  EXPECT_EQ(files().size(), 3u) << "a server that ends in the midst leaves them";
  std::ofstream(folder_ + "/iteration-7.spill") << "never noted";
  fs::remove(folder_ + "/iteration-4.spill");
  Spiller next(parts(1 << 20), pipeline_.queue());
  next.restore(noted_);
  EXPECT_EQ(files(), (std::vector<std::string>{"iteration-3.spill", "iteration-5.spill"}));
  Iteration iteration{4, true, next.files_of(4)[0]->blocks(), {}, {}};
  ASSERT_EQ(iteration.blocks.size(), 2u);
  const SpilledBlocks spilled(&iteration);
  EXPECT_FALSE(iteration.complete);
  EXPECT_TRUE(iteration.blocks.empty());
  ASSERT_EQ(spilled.problems().size(), 2u);
  EXPECT_EQ(spilled.problems()[1].variable, 1u);
  EXPECT_EQ(spilled.problems()[1].bytes, kBytes);
  EXPECT_TRUE(spilled.problems()[1].what.starts_with("block 0 is lost: "))
      << spilled.problems()[1].what;
}

TEST_F(Spilling, TakesNoMoreOfTheDiskThanItMay) {
  Spiller spiller(parts(25000), pipeline_.queue());
  spiller.start(executor_);
  for (int moved = 1; moved <= 2; ++moved) {
    spiller.make_room();
    await_wakes(spiller, moved);
  }
  EXPECT_EQ(files().size(), 2u);
  for (int i = 0; i < 50; ++i) {
    spiller.make_room();
    std::this_thread::yield();
  }
  EXPECT_EQ(files().size(), 2u);
  // When some are done with there is room for the next.
  pipeline_.take_oldest([](const Iteration& each) { return each.number == 5; });
  spiller.forget(5);
  while (wakes_ < 3) {
    spiller.make_room();
    std::this_thread::yield();
  }
  await_wakes(spiller, 3);
  ASSERT_FALSE(files().empty());
  EXPECT_EQ(files().back(), "iteration-3.spill") << "where that is quick, one more was asked for";
}

TEST_F(Spilling, WhileTheStoresAreAtWorkLosesNothingAndDoublesNothing) {
  Spiller spiller(parts(1 << 20), pipeline_.queue());
  spiller.start(executor_);
  pipeline_.start(executor_);
  std::vector<std::int64_t> done;
  std::int64_t sent = kCount;
  while (done.size() < static_cast<std::size_t>(sent)) {
    spiller.make_room();
    spiller.take_written([](const SpillRecord&) { return true; });
    if (sent < 500) {
      Iteration iteration{sent++, true, {}, {}, {}};
      iteration.blocks.emplace_back();
      iteration.blocks[0].data = segment_.data();
      iteration.blocks[0].bytes = kBytes;
      iteration.pins[0] = std::make_shared<int>(0);
      pipeline_.submit(std::move(iteration));
    }
    for (const PipelineResult& each : pipeline_.take_results()) {
      if (each.kind != PipelineResult::Kind::iteration) continue;
      EXPECT_TRUE(each.problems.empty());
      done.push_back(each.iteration);
      spiller.forget(each.iteration);
    }
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(sent));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(done, all);
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Memory that is taken while the run goes on.
#include "server/state/memory/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>

#include "server/driver/executors.hpp"
#include "tests/unit/server/sizes.hpp"

namespace leat::server {
namespace {

constexpr std::uint64_t kBegin = 64 * 1024, kEnd = 33 * kMiB;

// All news of a prefaulter until `bytes` are settled.
class Listener {
 public:
  void ring() {
    const std::lock_guard<std::mutex> lock(mutex_);
    rang_ = true;
    changed_.notify_one();
  }
  void await(Prefaulter& prefaulter, std::uint64_t bytes) {
    while (settled_ < bytes) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return rang_; });
      rang_ = false;
      lock.unlock();
      add(prefaulter.take_news());
    }
  }
  void add(const Prefaulter::News& news) {
    for (const shm::Region& each : news.taken) settled_ += each.bytes;
    for (const shm::Region& each : news.lost) settled_ += each.bytes;
    taken_.insert(taken_.end(), news.taken.begin(), news.taken.end());
    lost_.insert(lost_.end(), news.lost.begin(), news.lost.end());
  }
  // Whether the slices are each byte of the range once.
  bool is_all() {
    std::vector<shm::Region> all = taken_;
    all.insert(all.end(), lost_.begin(), lost_.end());
    std::ranges::sort(all, {}, &shm::Region::offset);
    std::uint64_t at = kBegin;
    for (const shm::Region& each : all) {
      if (each.offset != at) return false;
      at += each.bytes;
    }
    return at == kEnd;
  }
  std::vector<shm::Region> taken_, lost_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rang_ = false;
  std::uint64_t settled_ = 0;
};

TEST(Prefaulter, ThreadsTakeEachByteOnce) {
  Listener listener;
  Prefaulter prefaulter([](shm::Region) { return 0; }, [&] { listener.ring(); });
  prefaulter.add({{kBegin, kEnd - kBegin}});
  ThreadExecutor executor;
  prefaulter.start(executor, 3);
  listener.await(prefaulter, kEnd - kBegin);
  EXPECT_TRUE(listener.is_all());
  EXPECT_TRUE(listener.lost_.empty());
}

TEST(Prefaulter, WithoutAThreadTheLoopTakesWhatItAsksFor) {
  Prefaulter prefaulter([](shm::Region) { return 0; }, [] {});
  prefaulter.add({{kBegin, kEnd - kBegin}});
  EXPECT_FALSE(prefaulter.has_news());
  const shm::Region wanted{kBegin + 3 * kMiB, 2 * kMiB};  // lies in two slices
  for (int i = 0; i < 3; ++i) prefaulter.take_one_in(wanted);
  EXPECT_TRUE(prefaulter.has_news());
  const Prefaulter::News news = prefaulter.take_news();
  ASSERT_EQ(news.taken.size(), 2u);
  EXPECT_LE(news.taken[0].offset, wanted.offset);
  EXPECT_EQ(news.taken[0].offset + news.taken[0].bytes, news.taken[1].offset);
  EXPECT_GE(news.taken[1].offset + news.taken[1].bytes, wanted.offset + wanted.bytes);
  EXPECT_FALSE(prefaulter.has_news());
}

TEST(Prefaulter, WhatCannotBeTakenIsGivenUpWithAllThatNobodyHadBegun) {
  Listener listener;
  Prefaulter prefaulter([](shm::Region slice) { return slice.offset < 8 * kMiB ? 0 : ENOSPC; },
                        [] {});
  prefaulter.add({{kBegin, 4 * kMiB - kBegin}, {4 * kMiB, kEnd - 4 * kMiB}});
  prefaulter.take_one_in({kBegin, 1});
  prefaulter.take_one_in({20 * kMiB, 1});
  prefaulter.take_one_in({4 * kMiB, 1});  // given up
  const Prefaulter::News news = prefaulter.take_news();
  listener.add(news);
  EXPECT_EQ(news.code, ENOSPC);
  EXPECT_EQ(news.taken.size(), 1u);
  EXPECT_TRUE(listener.is_all());
}

TEST(Prefaulter, EndsWhileThereIsMuchToDo) {
  std::atomic<int> calls{0};
  {
    Prefaulter prefaulter(
        [&](shm::Region) {
          ++calls;
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return 0;
        },
        [] {});
    prefaulter.add({{0, std::uint64_t{1} << 40}});
    ThreadExecutor executor;
    prefaulter.start(executor, 2);
  }
  EXPECT_LT(calls, 1 << 18);
}

}  // namespace
}  // namespace leat::server

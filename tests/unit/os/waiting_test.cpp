// SPDX-License-Identifier: Apache-2.0
// Time limits, and sleeping on a word.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <thread>

#include "lib/os/clock.hpp"
#include "tests/unit/os/durations.hpp"

namespace leat::os {
namespace {

constexpr std::int64_t kLong = 100'000 * kMillisecond;  // a test that waits so long has failed

TEST(Deadline, PassesAndIsNeverNegative) {
  const Deadline deadline = Deadline::in_ns(2 * kMillisecond);
  EXPECT_FALSE(deadline.passed());
  EXPECT_GT(deadline.left_ns(), 0);
  while (!deadline.passed()) relax();
  EXPECT_EQ(deadline.left_ns(), 0);
  EXPECT_TRUE(Deadline::in_ns(0).passed());
}

TEST(LeftMs, IsZeroAtTheEndAndFitsPollHoweverLongItIs) {
  EXPECT_EQ(left_ms(now_ns()), 0);
  EXPECT_EQ(left_ms(INT64_MAX), INT_MAX);
}

TEST(WaitBudget, BeginsWithTheFirstWaitAndIsOfAllWaitsTogether) {
  WaitBudget budget(2 * kMillisecond);
  usleep(3000);  // work before the first wait does not count
  EXPECT_GT(budget.left_ns(), 0);
  while (budget.left_ns() > 0) give_way();
  EXPECT_EQ(budget.left_ns(), 0);
  EXPECT_EQ(budget.waited_ns(), 2 * kMillisecond);
}

TEST(Futex, DoesNotSleepWhenTheWordHasChanged) {
  const std::atomic<std::uint32_t> word{1};
  const std::int64_t start = now_ns();
  futex_wait(word, 0, kLong);
  EXPECT_LT(now_ns() - start, kLong);
}

TEST(Futex, EndsAfterItsTime) {
  const std::atomic<std::uint32_t> word{1};
  const std::int64_t start = now_ns();
  futex_wait(word, 1, 5 * kMillisecond);
  EXPECT_GE(now_ns() - start, 4 * kMillisecond);
  futex_wait(word, 1, 0);
}

TEST(Futex, WakesAllThreads) {
  std::atomic<std::uint32_t> word{1};
  const auto sleep = [&word] {
    while (word == 1) futex_wait(word, 1, kLong);
  };
  std::thread a(sleep), b(sleep);
  usleep(2000);
  word = 2;
  futex_wake_all(word);
  a.join();
  b.join();
}

TEST(Futex, WakesAnotherProcess) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto& word = *new (page) std::atomic<std::uint32_t>(1);
  const pid_t sleeper = fork();
  if (sleeper == 0) {
    const Deadline deadline = Deadline::in_ns(kLong);
    while (word == 1 && !deadline.passed()) futex_wait(word, 1, kLong);
    _exit(deadline.passed());
  }
  usleep(2000);
  word = 2;
  futex_wake_all(word);
  int status = -1;
  waitpid(sleeper, &status, 0);
  EXPECT_EQ(status, 0);
  munmap(page, 4096);
}

}  // namespace
}  // namespace leat::os

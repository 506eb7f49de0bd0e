// SPDX-License-Identifier: Apache-2.0
// A thread with a queue of tasks and a stop.
#include "lib/os/worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace leat::os {
namespace {

std::jthread start_thread(Worker::Task task) { return std::jthread(std::move(task)); }

TEST(Worker, DoesTasksInTheirOrderAlsoThoseThatCameBeforeItsStart) {
  Worker worker;
  std::vector<int> done;
  for (int i = 0; i < 3; ++i) worker.post([&done, i] { done.push_back(i); });
  EXPECT_FALSE(worker.is_idle());
  worker.start(start_thread);
  for (int i = 3; i < 1000; ++i) worker.post([&done, i] { done.push_back(i); });
  worker.wait();
  EXPECT_TRUE(worker.is_idle());
  ASSERT_EQ(done.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(Worker, WhatATaskHoldsEndsBeforeItIsIdle) {
  Worker worker;
  worker.start(start_thread);
  auto held = std::make_shared<int>(1);
  for (int i = 0; i < 1000; ++i) {
    worker.post([held] {});
    worker.wait();
    ASSERT_EQ(held.use_count(), 1);
  }
}

TEST(Worker, StopsAfterTheTaskThatItIsAtAndDropsTheRest) {
  std::atomic<bool> begun{false}, may_end{false};
  std::atomic<int> done{0};
  {
    Worker worker;
    worker.start(start_thread);
    worker.post([&] {
      begun = true;
      while (!may_end) std::this_thread::yield();
      ++done;
    });
    for (int i = 0; i < 10; ++i) worker.post([&] { ++done; });
    while (!begun) std::this_thread::yield();
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      may_end = true;
    });
    worker.stop();
    EXPECT_TRUE(worker.is_idle());
  }
  EXPECT_EQ(done, 1);
}

TEST(WorkerDeathTest, ATaskThatThrowsEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        Worker worker;
        worker.start(start_thread);
        worker.post([] { throw std::runtime_error("no memory"); });
        worker.wait();
      },
      "no memory");
}

TEST(Worker, IsIdleWhereNobodyHasStartedIt) {
  Worker worker;
  EXPECT_TRUE(worker.is_idle());
  EXPECT_FALSE(worker.has_thread());
  worker.finish();
}

TEST(Worker, TakesTasksFromManyThreads) {
  Worker worker;
  worker.start(start_thread);
  int sum = 0;  // of the worker's thread alone
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) worker.post([&sum] { ++sum; });
      });
  }
  worker.wait();
  EXPECT_EQ(sum, 8000);
}

}  // namespace
}  // namespace leat::os

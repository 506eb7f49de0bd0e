// SPDX-License-Identifier: Apache-2.0
// A thread with a queue of tasks and a stop.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace leat::os {

// Calls tasks one after the other, in the order in which they were posted, on a thread of its own. A task that throws ends
// the process: a server that dies leaves its segment, and another one goes on, which no half-done task lets it do. The thread
// ends after the task that it is at, so stop() waits for one task at most. Calls may come from any thread but the worker's.
class Worker {
 public:
  using Task = std::function<void()>;
  /// Calls `task` once, on a new thread. Throws std::system_error when there is none to be had.
  using StartThread = std::function<std::jthread(Task task)>;

  Worker() = default;
  Worker(const Worker&) = delete;
  ~Worker() { stop(); }

  /// Once; what was posted before is done then. Throws as `start_thread` does.
  void start(const StartThread& start_thread);
  bool has_thread() const noexcept { return thread_.joinable(); }

  void post(Task task);
  /// Nothing waits in the queue, or is at work.
  bool is_idle() const;
  /// Returns when idle.
  void wait();
  /// The same, and ends the thread.
  void finish();
  /// Ends the thread; what waits in the queue is dropped.
  void stop() noexcept;

 private:
  void run() noexcept;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // the first one is at work
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace leat::os

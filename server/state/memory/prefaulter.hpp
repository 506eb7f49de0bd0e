// SPDX-License-Identifier: Apache-2.0
// Takes the memory of the segment from the system while the run goes on: a start that waits for all pages of a large buffer
// takes seconds. The event loop gives out only what has been taken, so that no rank is ever killed for a page that is not
// there; what a rank waits for the loop takes itself, a slice at a time. It works from both ends: small blocks go to the low
// one, large ones to the high one.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/shm/leases.hpp"
#include "server/state/run.hpp"

namespace leat::server {

/// All is for the event loop.
class Prefaulter {
 public:
  /// 0, or the errno for which there is no such memory. Called from several threads.
  using Take = std::function<int(shm::Region)>;
  /// What has become of slices since it was asked for last.
  struct News {
    std::vector<shm::Region> taken;
    std::vector<shm::Region> lost;  ///< these, and all that nobody had begun, are given up
    int code = 0;                   ///< why; 0: nothing is lost
  };
  /// `wake` is called, from any thread, when there is news.
  Prefaulter(Take take, std::function<void()> wake);
  ~Prefaulter() { stop(); }

  /// Before start(): ranges that are to be taken, by take_one_in() and by threads.
  void add(const std::vector<shm::Region>& ranges);
  /// Starts so many threads in all. The system may have no room for them: take_one_in() goes on.
  void start(Executor& executor, unsigned threads);
  /// Ends the threads after the slice that each is at.
  void stop() noexcept;

  bool has_news() const noexcept { return has_news_.load(std::memory_order_acquire); }
  News take_news();
  /// Takes the first slice that lies in this range and that nobody has begun: a millisecond of
  /// work.
  void take_one_in(shm::Region range);

 private:
  void run();
  bool claim(bool high, shm::Region* slice);
  void take(shm::Region slice);
  void settle(shm::Region slice, int code);

  Take take_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::deque<shm::Region> todo_;  // in order; nobody has begun them
  News news_;
  std::atomic<bool> has_news_{false}, stopping_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace leat::server

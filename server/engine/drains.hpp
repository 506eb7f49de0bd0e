// SPDX-License-Identifier: Apache-2.0
// Sessions of this user on this node of which all processes were killed: a process of its own for each stores what lies
// in its segment (leatd --drain), beside this server and whatever becomes of it; where another run on this node has started
// one, that one counts. The stores of this run wait, within bounds, for those that write to the same folder.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/node/stale_resources.hpp"
#include "lib/os/clock.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class Drains {
 public:
  Drains(std::vector<node::UndrainedOne> found, std::shared_ptr<Log> log)
      : found_(std::move(found)), log_(std::move(log)) {}

  /// Starts them, once.
  void start();
  /// The same, and returns when those of the folder that we work in have ended, or after a time that a start can take: these one
  /// after the other, the oldest first, so that each finds what the one before it has stored.
  void store_in_turn();
  /// Returns when those of the folder that we work in have ended, or when hurry() was called. From
  /// any thread.
  void await_here();
  /// Returns when all have ended, or after a time that a start can take.
  void await_all();
  bool any() const noexcept { return !found_.empty(); }
  /// What this run has to store is waiting: await_here() returns at once from now on.
  void hurry() noexcept { hurry_.store(true, std::memory_order_relaxed); }
  /// Says in the log what has become of those that have ended since the last call; `at_end`: and that others have not. From
  /// the thread that has started them.
  void report(bool at_end);
  bool any_unreported() const noexcept { return unreported_ > 0; }

 private:
  struct One {
    std::string segment, session;
    pid_t pid = 0;  ///< 0: somebody else's
    bool is_here = false;
    int status = 0;  // of the process, when it has ended
    bool is_told = false;
  };
  void start_one(const node::UndrainedOne& one);
  bool goes_on(One& each);
  void await(One& each, const os::Deadline& deadline);
  void log_outcome(const One& one);

  std::vector<node::UndrainedOne> found_;
  std::shared_ptr<Log> log_;
  std::mutex mutex_;  // of what follows, once they are started
  std::vector<One> started_;
  std::size_t unreported_ = 0;
  std::atomic<bool> hurry_{false};
};

}  // namespace leat::server

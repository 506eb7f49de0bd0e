// SPDX-License-Identifier: Apache-2.0
// Sessions of this user on this node of which all processes were killed: a process of its own for
// each stores what lies in its segment (leatd --drain), beside this server and whatever becomes of
// it. The stores of this run wait, within bounds, for those that write to the same folder.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/platform/stale_resources.hpp"
#include "server/session/log.hpp"

namespace leat::server {

class Drains {
 public:
  Drains(std::vector<platform::UndrainedOne> found, std::shared_ptr<Log> log)
      : found_(std::move(found)), log_(std::move(log)) {}

  /// Starts them, once.
  void start();
  /// Returns when those of the folder that we work in have ended, or when hurry() was called. From
  /// any thread.
  void await_here();
  /// Returns when all have ended, or after a time that a start can take.
  void await_all();
  bool any() const noexcept { return !found_.empty(); }
  /// What this run has to store is waiting: await_here() returns at once from now on.
  void hurry() noexcept { hurry_.store(true, std::memory_order_relaxed); }
  /// There may be something that await_here() waits for.
  bool any_here() const noexcept { return any_here_.load(std::memory_order_relaxed); }

 private:
  struct One {
    std::string segment;
    pid_t pid = 0;
    bool is_here = false;
  };
  void start_one(const platform::UndrainedOne& one);
  static bool goes_on(One& each);

  std::vector<platform::UndrainedOne> found_;
  std::shared_ptr<Log> log_;
  std::vector<One> started_;
  std::atomic<bool> hurry_{false}, any_here_{false};
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The thread that exchanges lines with the other servers of the run, and how long this one waits for them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/state/run.hpp"
#include "server/state/signals/agreement.hpp"
#include "server/state/signals/group.hpp"

namespace leat::server {

// How long this server waits for the other servers of its run: for one that lives as long as it takes, for one that
// publishes nothing less than the run's timeout. Private to the engine's thread.
class SilenceTimer {
 public:
  explicit SilenceTimer(const Run& run) : run_(run) {}

  /// This server has to publish so often.
  std::int64_t beat_ns() const noexcept;

  /// Now and then. `polls` grows as long as the others' lines are read; `stuck`: why those that are
  /// waited for cannot be reached, or "".
  void tick(std::uint64_t polls, const std::string& stuck);
  /// After tick(), when these are waited for: who has published nothing for too long.
  std::vector<std::string> expired(const std::vector<Agreement::Other>& awaited);
  /// Nothing is waited for, or there is news of all.
  void reset() noexcept { stuck_ns_ = 0; }
  /// stuck, for too long.
  bool has_expired() const noexcept { return stuck_ns_ > limit_ns(); }

 private:
  struct Silence {
    std::uint64_t beat = 0;
    std::int64_t ns = 0;
  };

  std::int64_t limit_ns() const noexcept;

  const Run& run_;
  std::map<std::string, Silence> silences_;
  std::int64_t ticked_ns_ = 0, stuck_ns_ = 0;
  std::int64_t since_poll_ns_ = 0;  // the one before the last
  std::uint64_t polls_ = 0;
  bool has_polled_ = false;
};

// Exchanges lines with the other servers of the run on a thread of its own, so that the engine never waits for a disk or a
// network. All but has_update() is called by the engine's thread.
class GroupThread {
 public:
  struct Update {
    std::vector<ServerLine> all;
    std::string problem;  ///< why nothing can be published now; ""
  };

  /// `wake` is called when has_update().
  GroupThread(std::unique_ptr<Group> group, std::function<void()> wake);
  ~GroupThread() { stop(); }

  void start(Executor& executor);
  const std::string& self() const noexcept { return group_->self(); }
  std::string place() const { return group_->place(); }
  void publish(std::string line);
  void silence(std::string server);
  /// Polls again and again, or only after it has published.
  void poll_often(bool often);

  bool has_update() const noexcept { return has_update_.load(std::memory_order_relaxed); }
  /// What has changed since the last time.
  std::optional<Update> take_update();
  /// Grows with each poll.
  std::uint64_t polls() const noexcept { return polls_.load(std::memory_order_relaxed); }

  /// Publishes the last line, and returns when that is done, or cannot be.
  void stop();
  /// When stopped.
  Group& group() noexcept { return *group_; }

 private:
  struct Orders {
    std::optional<std::string> line;
    std::vector<std::string> silence;
    bool any() const noexcept { return line || !silence.empty(); }
  };

  void work();
  void await_orders(std::unique_lock<std::mutex>& lock);
  Update carry_out(Orders* orders);

  std::unique_ptr<Group> group_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Orders orders_;
  bool polls_often_ = false, stopping_ = false;
  std::chrono::milliseconds pause_{1};
  std::optional<Update> update_;
  std::atomic<bool> has_update_{false};  // a hint: the mutex orders the rest
  std::atomic<std::uint64_t> polls_{0};
  std::jthread thread_;
};

}  // namespace leat::server

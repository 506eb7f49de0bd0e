// SPDX-License-Identifier: Apache-2.0
// Talking with the other servers of the run, and how long this one waits for them.
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

// How long this server waits for the other servers of its run: for one that lives as long as it
// takes, for one that is silent for less than the run's timeout. Private to the engine's thread.
class Patience {
 public:
  explicit Patience(const Run& run) : run_(run) {}

  /// This server is to be heard of so often.
  std::int64_t beat_ns() const noexcept;

  /// Now and then. `looks` grows as long as the others are listened to; `stuck`: why nothing can be
  /// heard of those that are waited for, or "".
  void tick(std::uint64_t looks, const std::string& stuck);
  /// After tick(), when these are waited for: who has been silent for too long.
  std::vector<std::string> silent(const std::vector<Agreement::Other>& awaited);
  /// Nothing is waited for, or there is news of all.
  void begin_anew() noexcept { stuck_ns_ = 0; }
  /// stuck, for too long.
  bool is_over() const noexcept { return stuck_ns_ > limit_ns(); }

 private:
  struct Silence {
    std::uint64_t beat = 0;
    std::int64_t ns = 0;
  };

  std::int64_t limit_ns() const noexcept;

  const Run& run_;
  std::map<std::string, Silence> silences_;
  std::int64_t ticked_ns_ = 0, stuck_ns_ = 0;
  std::int64_t since_look_ns_ = 0;  // the one before the last
  std::uint64_t looks_ = 0;
  bool has_looked_ = false;
};

// Talks with the other servers of the run on a thread of its own: a disk or a network that is slow
// keeps the engine from nothing. All but has_news() is called by the engine's thread.
class GroupTalk {
 public:
  struct News {
    std::vector<Said> all;
    std::string problem;  ///< why nothing can be said now; ""
  };

  /// `wake` is called when has_news().
  GroupTalk(std::unique_ptr<Group> group, std::function<void()> wake);
  ~GroupTalk() { stop(); }

  void start(Executor& executor);
  const std::string& self() const noexcept { return group_->self(); }
  std::string place() const { return group_->place(); }
  void say(std::string line);
  void silence(std::string server);
  /// Again and again, or only when something is said.
  void listen(bool eagerly);

  bool has_news() const noexcept { return has_news_.load(std::memory_order_relaxed); }
  /// What has changed since the last time.
  std::optional<News> take_news();
  /// Grows as long as the others are listened to.
  std::uint64_t looks() const noexcept { return looks_.load(std::memory_order_relaxed); }

  /// Says the last word, and returns when it is said, or cannot be.
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
  News carry_out(Orders* orders);

  std::unique_ptr<Group> group_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Orders orders_;
  bool eagerly_ = false, stopping_ = false;
  std::chrono::milliseconds pause_{1};
  std::optional<News> news_;
  std::atomic<bool> has_news_{false};  // a hint: the mutex orders the rest
  std::atomic<std::uint64_t> looks_{0};
  std::jthread thread_;
};

}  // namespace leat::server

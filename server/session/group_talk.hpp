// SPDX-License-Identifier: Apache-2.0
// Talks with the other servers of the run on a thread of its own: a disk or a network that is slow
// keeps the engine from nothing. All but has_news() is called by the engine's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/group/group.hpp"
#include "server/session/executor.hpp"

namespace leat::server {

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

// SPDX-License-Identifier: Apache-2.0
// A thread for stores that may leave iterations out: it makes calls in order, and who has asked for
// one may take it back, or go on without it. Those of one plugin share one.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "server/session/executor.hpp"

namespace leat::server {

/// Asked by one thread, always the same.
class SideLane {
 public:
  struct Errand;
  using Ticket = std::shared_ptr<Errand>;

  /// `ended`: called after each call, from the lane's thread.
  explicit SideLane(std::function<void()> ended) : ended_(std::move(ended)) {}
  SideLane(const SideLane&) = delete;
  /// After all calls.
  ~SideLane();

  /// Once. When there is no thread to be had, give() makes the calls.
  void start(Executor& executor);
  /// `is_sure`: it cannot be taken back.
  Ticket give(std::function<void()> call, bool is_sure);
  bool is_over(const Ticket& errand) const;
  bool has_begun(const Ticket& errand) const;
  /// True: it has not begun, and never will.
  bool take_back(const Ticket& errand);
  /// Nobody waits for it: what is to follow it does so on the lane's thread. False: it is over.
  bool let_go(const Ticket& errand, std::function<void()> then);
  /// Waits until nothing is left to do.
  void await_all();

 private:
  void work();

  std::function<void()> ended_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ticket> errands_;  // the first one is under way
  bool closing_ = false;
  std::jthread thread_;
};

}  // namespace leat::server

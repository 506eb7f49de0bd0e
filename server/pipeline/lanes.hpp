// SPDX-License-Identifier: Apache-2.0
// Threads on which stores work: lanes that iterations wait for, and lanes that may leave iterations out.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/state/run.hpp"

namespace leat::server {

// Threads on which stores work at the same time. Those of one plugin, which may have things in
// common, share a thread, always the same one.
class Lanes {
 public:
  using Call = std::function<void(std::size_t store)>;

  /// `libraries`: by store, what its plugin is; null: it is called elsewhere. `most`: of threads, the caller's of run() included.
  Lanes(const std::vector<const void*>& libraries, std::size_t most);
  Lanes(const Lanes&) = delete;
  ~Lanes();

  /// Once. Without threads, when there are none to be had.
  void start(Executor& executor);
  /// Calls it once for each of its stores, in their order as far as they share a thread, and waits until
  /// all are done. From one thread, always the same.
  void run(const Call& call);

 private:
  void work(std::size_t lane);

  std::vector<std::vector<std::size_t>> stores_;  // by lane; the first is the caller's
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const Call* call_ = nullptr;  // of the round in progress
  std::size_t round_ = 0, working_ = 0;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

// A thread for stores that may leave iterations out: it makes calls in order, and who has asked for
// one may take it back, or go on without it. Those of one plugin share one.

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

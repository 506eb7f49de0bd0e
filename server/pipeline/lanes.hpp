// SPDX-License-Identifier: Apache-2.0
// Threads on which stores work: lanes that iterations wait for, and lanes that may leave iterations out.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/os/worker.hpp"
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

  /// Once. Without threads, when there are none to be had.
  void start(Executor& executor);
  /// Calls it once for each of its stores, in their order as far as they share a thread, and waits until
  /// all are done. From one thread, always the same.
  void run(const Call& call);

 private:
  std::vector<std::vector<std::size_t>> stores_;            // by lane; the first is the caller's
  std::vector<std::unique_ptr<platform::Worker>> workers_;  // of the others
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
  ~SideLane() { worker_.finish(); }

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
  void await_all() { worker_.wait(); }

 private:
  void run(Errand& errand);

  std::function<void()> ended_;
  mutable std::mutex mutex_;  // of what errands have
  platform::Worker worker_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Threads on which stores work at the same time. Those of one plugin, which may have things in
// common, share a thread, always the same one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "server/session/executor.hpp"

namespace leat::server {

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

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Threads that do independent pieces of work: those of a plugin's iteration.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/session/executor.hpp"

namespace leat::server {

class WorkTeam {
 public:
  /// Does the piece of this number; an error, or "".
  using Piece = std::function<std::string(std::uint64_t number)>;

  /// `members`: that help those who call run().
  explicit WorkTeam(std::size_t members) : members_(members) {}
  WorkTeam(const WorkTeam&) = delete;
  ~WorkTeam();

  /// Once. With fewer threads, when there are no more to be had.
  void start(Executor& executor);
  /// Returns when all pieces are done, or when one has failed and none is being done any more: the
  /// error of the first that failed. From several threads at the same time; each helps itself.
  std::string run(std::uint64_t pieces, const Piece& piece);

 private:
  struct Job;

  void work();
  Job* next_job();
  void help(Job& job, std::unique_lock<std::mutex>& lock);

  std::size_t members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job*> jobs_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Threads that do independent pieces of work: those of a plugin's iteration.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/platform/affinity.hpp"
#include "server/pipeline/piece_runner.hpp"
#include "server/session/executor.hpp"

namespace leat::server {

class WorkTeam final : public PieceRunner {
 public:
  /// `members`: that help those who call run(). `cores`: on which they do so; none: where they are.
  explicit WorkTeam(std::size_t members, const platform::CpuSet& cores = {})
      : members_(members), cores_(cores) {}
  WorkTeam(const WorkTeam&) = delete;
  ~WorkTeam() override;

  /// Once. With fewer threads, when there are no more to be had.
  void start(Executor& executor);
  /// Each who calls it helps itself.
  std::string run(std::uint64_t pieces, const Piece& piece, const IsLate& is_late) override;

 private:
  struct Job;

  void work();
  Job* next_job();
  void help(Job& job, std::unique_lock<std::mutex>& lock);

  std::size_t members_;
  platform::CpuSet cores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job*> jobs_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// One process that runs scripts, or a plugin: started, spoken to, ended, with all that they have
// started. Used by one thread, on which it is started too: the process ends when that thread does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/frames/frame.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::server {

/// What workers of a kind are started with.
struct WorkerPlan {
  std::vector<std::string> command{};     ///< path, and arguments
  std::shared_ptr<nlohmann::json> setup;  ///< the first frame
  int cores = 1;                          ///< threads that libraries in it should use
  bool idle = false;                      ///< it gets what time nobody else wants
  int constants_fd = -1;       ///< a copy of the arrays that do not vary in time; -1: it gets none
  int outputs_fd = -1;         ///< memory for what a module makes; -1: it gets none
  std::vector<int> sockets{};  ///< that listen for another host
  std::vector<std::string> variables{};  ///< more of its environment
  /// What a process has not done that did not start.
  std::string not_started = " did not start as a worker";
  /// A process that is stopped is waited for so long, then it is ended.
  std::int64_t stop_limit_ns = 60'000'000'000;
};

/// What WorkerProcess::start came to.
struct WorkerStart {
  std::string why;          ///< "" when it runs, or why it does not
  bool interfered = false;  ///< somebody stopped or killed it: another one may well start
};

class WorkerProcess {
 public:
  explicit WorkerProcess(const WorkerPlan& plan) : plan_(plan) {}
  WorkerProcess(const WorkerProcess&) = delete;
  ~WorkerProcess() { end(); }

  /// Starts it and waits for its answer, which says what it found (numpy, xarray).
  WorkerStart start();
  /// From any thread.
  bool runs() const noexcept { return pid_ > 0; }
  pid_t pid() const noexcept { return pid_; }

  // Both give it up when it dies, or is stopped for longer than the limit.
  bool send(const Frame& frame, std::int64_t deadline_ns);
  FrameStatus receive(Frame* frame, std::int64_t deadline_ns);

  /// It ended since the last word with it.
  bool has_ended() const noexcept;
  /// The last word with it was given up because it was stopped.
  bool was_stopped() const noexcept { return was_stopped_; }
  /// Lets it end by itself: what scripts have open is written. Kills it when it does not, and what
  /// its scripts have started.
  void finish();
  /// Waits for the end of one that has closed its side, for a moment.
  void await_end() const;
  /// Kills it if it still runs, and what its scripts have started. Returns how it ended, and where
  /// its code was if it told.
  std::string end();
  /// All that Python said of its end, with the frames of others: of the last end().
  const std::string& all_last_words() const noexcept { return all_last_words_; }

 private:
  WorkerStart start_once();
  WorkerStart handshake();
  os::GivenUp given_up();

  const WorkerPlan& plan_;
  std::string mark_;  // in its environment, and so in that of all that it starts
  std::atomic<pid_t> pid_{-1};
  bool was_stopped_ = false;
  std::string all_last_words_;
  os::UniqueFd socket_, crash_file_;
};

}  // namespace leat::server

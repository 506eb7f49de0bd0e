// SPDX-License-Identifier: Apache-2.0
// One Python process that runs scripts: started, spoken to, ended. Used by one thread, on which it
// is started too: the process ends when that thread does.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "lib/platform/unique_fd.hpp"
#include "server/scripts/frame.hpp"

namespace leat::server {

/// What all workers of a run are started with.
struct WorkerPlan {
  std::string interpreter;  ///< path
  std::string launcher;     ///< path of launch.py
  nlohmann::json setup;     ///< the first frame
  int cores = 1;            ///< threads that libraries in it should use
  int constants_fd = -1;    ///< a copy of the arrays that do not vary in time
};

class WorkerProcess {
 public:
  explicit WorkerProcess(const WorkerPlan& plan) : plan_(plan) {}
  WorkerProcess(const WorkerProcess&) = delete;
  ~WorkerProcess() { end(); }

  /// Starts it and waits for its greeting, which says what it found (numpy, xarray). "" or why it
  /// cannot run.
  std::string start();
  /// From any thread.
  bool runs() const noexcept { return pid_ > 0; }
  pid_t pid() const noexcept { return pid_; }

  bool send(const Frame& frame, std::int64_t deadline_ns) {
    return send_frame(socket_.get(), frame, deadline_ns);
  }
  FrameStatus receive(Frame* frame, std::int64_t deadline_ns) {
    return receive_frame(socket_.get(), frame, deadline_ns);
  }

  /// It ended since the last word with it.
  bool has_ended() const noexcept;
  /// Lets it end by itself: what scripts have open is written. Kills it when it does not.
  void finish();
  /// Kills it if it still runs. Returns how it ended, and where its code was if it told.
  std::string end();

 private:
  std::string start_once(bool* killed);
  std::string last_words();

  const WorkerPlan& plan_;
  std::atomic<pid_t> pid_{-1};
  platform::UniqueFd socket_, crash_file_;
};

}  // namespace leat::server

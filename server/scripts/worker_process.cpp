// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/worker_process.hpp"

#include <signal.h>

#include <sstream>

#include "lib/platform/clock.hpp"
#include "lib/platform/memory_file.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/stream.hpp"
#include "server/scripts/worker_words.hpp"

namespace leat::server {
namespace {

// Descriptors of the worker, as launch.py knows them.
constexpr int kSocket = 3, kCrashFile = 4, kConstants = 5;
// Imports from a cold network disk take long.
// One that somebody kills while it starts says nothing of the next one.
constexpr int kMostStarts = 5;
constexpr std::int64_t kGreetingLimitNs = 120'000'000'000;
constexpr std::int64_t kReapLimitNs = 5'000'000'000;
constexpr std::size_t kMostLastWords = 16 * 1024;

// Libraries would otherwise start a thread for each core of the machine, on the few that are ours.
std::vector<std::string> variables(int cores) {
  std::vector<std::string> all{"MPLBACKEND=Agg"};
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    all.push_back(std::string(name) + "=" + std::to_string(cores));
  }
  return all;
}

// What Python's faulthandler wrote, without the frames of Leat and the list of loaded modules.
std::string of_the_script(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Extension modules:")) break;
    const bool ours = line.find("/leat/scripting/") != std::string::npos ||
                      line.find("/python/launch.py\"") != std::string::npos;
    if (!ours && !line.empty()) kept += "\n" + line;
  }
  return kept;
}

}  // namespace

std::string WorkerProcess::start() {
  bool killed = true;
  std::string why;
  for (int starts = 0; killed && starts < kMostStarts; ++starts) why = start_once(&killed);
  return why;
}

std::string WorkerProcess::start_once(bool* killed) {
  *killed = false;
  Result<std::pair<platform::UniqueFd, platform::UniqueFd>> ends = platform::stream_pair();
  if (!ends) return ends.error().message;
  crash_file_ = platform::memory_file("leat-crash");
  const Result<pid_t> started = platform::start({plan_.interpreter, plan_.launcher, "worker"},
                                                {{ends->second.get(), kSocket},
                                                 {crash_file_.get(), kCrashFile},
                                                 {plan_.constants_fd, kConstants}},
                                                variables(plan_.cores));
  if (!started) return started.error().message;
  pid_ = *started;
  socket_ = std::move(ends->first);
  ends->second.reset();
  const std::int64_t deadline_ns = platform::now_ns() + kGreetingLimitNs;
  Frame greeting;
  FrameStatus greeted = FrameStatus::ended;
  if (send({plan_.setup, ""}, deadline_ns)) greeted = receive(&greeting, deadline_ns);
  if (greeted != FrameStatus::frame) {
    const std::string how = end();
    *killed = greeted == FrameStatus::ended && how.starts_with("was killed by signal 9");
    return plan_.interpreter + " did not start as a worker: it " + how;
  }
  std::string why = text_in(greeting.head, "cannot");
  if (!why.empty()) end();
  return why;
}

bool WorkerProcess::has_ended() const noexcept { return platform::stream_has_ended(socket_.get()); }

void WorkerProcess::finish() {
  if (pid_ <= 0) return;
  socket_.reset();  // the worker takes that as the end
  if (platform::reap(pid_, kReapLimitNs)) pid_ = -1;
  end();
}

std::string WorkerProcess::end() {
  if (pid_ <= 0) return "";
  socket_.reset();
  // With what a script has started; a process that has ended by itself keeps its own status.
  kill(-pid_, SIGKILL);
  int status = 0;
  std::string how = "did not end";
  if (platform::reap(pid_, kReapLimitNs, &status)) how = platform::describe_end(status);
  pid_ = -1;
  return how + last_words();
}

std::string WorkerProcess::last_words() {
  return of_the_script(platform::text_of(crash_file_.get(), kMostLastWords));
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/workers/worker_process.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/os/child_process.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/process.hpp"

namespace leat::server {
namespace {

// Descriptors of the worker, as launch.py knows them.
constexpr int kCrashFile = 4;
// One that somebody kills or stops while it starts says nothing of the next one.
constexpr int kMostStarts = 5;
// Imports from a cold network disk take long.
constexpr std::int64_t kWorkerStartLimitNs = 120'000'000'000;
constexpr std::int64_t kReapLimitNs = 5'000'000'000;
// A program closes its side a moment before it has ended.
constexpr std::int64_t kEndByItselfNs = 1'000'000'000;
constexpr std::size_t kMostLastWords = 16 << 10;

// Libraries would otherwise start a thread for each core of the machine, on the few that are ours.
std::vector<std::string> variables(const WorkerPlan& plan, const std::string& mark) {
  std::vector<std::string> all{mark, "MPLBACKEND=Agg",
                               std::string("LEAT_WORKER_IDLE=") + (plan.idle ? "1" : "0")};
  all.insert(all.end(), plan.variables.begin(), plan.variables.end());
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    all.push_back(std::string(name) + "=" + std::to_string(plan.cores));
  }
  return all;
}

// A frame of Leat's, or of a library.
bool is_of_others(const std::string& line) {
  static const char* const kPlaces[] = {"/leat/scripting/", "/python/launch.py\"",
                                        "/site-packages/",  "/dist-packages/",
                                        "/lib/python3",     "<frozen "};
  return std::any_of(std::begin(kPlaces), std::end(kPlaces),
                     [&](const char* place) { return line.find(place) != std::string::npos; });
}

// "Current thread 0x00007f0c (most recent call first):" of two processes says the same.
std::string without_thread_id(const std::string& line) {
  const std::size_t id = line.find("hread 0x");
  if (id == std::string::npos) return line;
  return line.substr(0, id + 5) + line.substr(std::min(line.find(' ', id + 6), line.size()));
}

// What Python's faulthandler wrote, without frames of others and the list of loaded modules.
std::string of_the_script(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Extension modules:")) break;
    if (is_of_others(line) || line.empty()) continue;
    kept += "\n" + without_thread_id(line);
  }
  return kept;
}

}  // namespace

WorkerStart WorkerProcess::start() {
  WorkerStart start{"", true};
  for (int starts = 0; start.interfered && starts < kMostStarts; ++starts) start = start_once();
  return start;
}

WorkerStart WorkerProcess::start_once() {
  Result<std::pair<os::UniqueFd, os::UniqueFd>> ends = os::stream_pair();
  if (!ends) return {ends.error().message};
  crash_file_ = os::memory_file("leat-crash");
  mark_ = os::family_mark();
  was_stopped_ = false;
  bool stopped = false;
  std::vector<os::Passed> passed{{ends->second.get(), kWorkerSocket},
                                 {crash_file_.get(), kCrashFile}};
  if (plan_.constants_fd >= 0) passed.push_back({plan_.constants_fd, kWorkerConstants});
  if (plan_.outputs_fd >= 0) passed.push_back({plan_.outputs_fd, kWorkerOutputs});
  for (std::size_t i = 0; i < plan_.sockets.size(); ++i)
    passed.push_back({plan_.sockets[i], kWorkerSockets + static_cast<int>(i)});
  const Result<pid_t> started = os::start_dependent(
      {plan_.command, std::move(passed), variables(plan_, mark_), plan_.stop_limit_ns}, &stopped);
  if (!started) return {started.error().message, stopped};
  pid_ = *started;
  socket_ = std::move(ends->first);
  ends->second.reset();
  return handshake();
}

WorkerStart WorkerProcess::handshake() {
  const std::int64_t deadline_ns = os::now_ns() + kWorkerStartLimitNs;
  Frame answer;
  FrameStatus greeted = FrameStatus::ended;
  if (send({*plan_.setup, ""}, deadline_ns)) greeted = receive(&answer, deadline_ns);
  if (greeted != FrameStatus::frame) {
    const bool stopped = was_stopped_;
    const std::string how = stopped ? (end(), "was stopped") : end();
    const bool killed = greeted == FrameStatus::ended && how.starts_with("was killed by signal 9");
    return {plan_.command[0] + plan_.not_started + ": it " + how, stopped || killed};
  }
  std::string why = text_in(answer.head, "cannot");
  if (!why.empty()) end();
  return {why};
}

os::GivenUp WorkerProcess::given_up() {
  return [this, watch = os::StopWatch(plan_.stop_limit_ns)]() mutable {
    const os::ChildState state = os::state_of_child(pid_);
    was_stopped_ = watch.too_long(state);
    return was_stopped_ || state == os::ChildState::ended;
  };
}

bool WorkerProcess::send(const Frame& frame, std::int64_t deadline_ns) {
  return send_frame(socket_.get(), frame, deadline_ns, given_up());
}

FrameStatus WorkerProcess::receive(Frame* frame, std::int64_t deadline_ns) {
  return receive_frame(socket_.get(), frame, deadline_ns, given_up());
}

bool WorkerProcess::has_ended() const noexcept {
  return os::state_of_child(pid_) == os::ChildState::ended || os::stream_has_ended(socket_.get());
}

void WorkerProcess::finish() {
  if (pid_ <= 0) return;
  socket_.reset();  // the worker takes that as the end
  const os::Deadline deadline = os::Deadline::in_ns(kReapLimitNs);
  while (os::state_of_child(pid_) == os::ChildState::runs && !deadline.passed())
    os::pause_shortly();
  end();
}

void WorkerProcess::await_end() const {
  const os::Deadline deadline = os::Deadline::in_ns(kEndByItselfNs);
  while (pid_ > 0 && os::state_of_child(pid_) == os::ChildState::runs && !deadline.passed())
    os::pause_shortly();
}

std::string WorkerProcess::end() {
  if (pid_ <= 0) return "";
  socket_.reset();
  // A process that has ended by itself keeps its own status.
  os::end_family(pid_, mark_, kReapLimitNs);
  int status = 0;
  std::string how = "did not end";
  if (os::reap(pid_, kReapLimitNs, &status)) how = os::describe_end(status);
  pid_ = -1;
  all_last_words_ = os::text_of(crash_file_.get(), kMostLastWords);
  return how + of_the_script(all_last_words_);
}

}  // namespace leat::server

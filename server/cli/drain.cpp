// SPDX-License-Identifier: Apache-2.0
#include "server/cli/drain.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "lib/base/status.hpp"
#include "lib/base/text.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/process.hpp"
#include "lib/shm/segment.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli {

std::vector<KilledSession> killed_sessions() {
  std::vector<KilledSession> killed;
  const node::Findings found =
      node::sweep({node::runtime_folder_name()}, node::Sweep::look, shm::must_stay);
  for (const node::UndrainedOne& one : found.undrained) {
    KilledSession session{one, shm::undrained_in(one.segment)};
    session.iterations = session.held.iterations.size();
    session.blocks = session.held.blocks;
    session.bytes = session.held.bytes;
    session.problem = session.held.problem;
    killed.push_back(std::move(session));
  }
  return killed;
}

namespace {

constexpr std::int64_t kLeastLimitNs = 2'000'000'000;
// One that takes processor time all the while, and gets nothing done, runs in a circle.
constexpr std::int64_t kMostFruitlessNs = 600'000'000'000;
// Of processor time between two glances: less is a loop that looks again and again whether it may
// go on.
constexpr std::int64_t kLeastWorkNs = os::kGlanceNs / 5;

// Whether the process that stores what a killed session has in memory gets on with it: one that
// works may take as long as it needs, one that is stopped or stuck is not waited for.
class DrainWatch {
 public:
  /// Of the process `who`, or, without it, of whoever has the segment's lock.
  explicit DrainWatch(const std::string& segment, pid_t who = 0)
      : path_("/dev/shm/" + segment),
        segment_(shm::Segment::look(segment)),
        is_child_(who != 0),
        who_(who),
        count_(count()),
        limit_ns_(kLeastLimitNs) {
    if (segment_)
      limit_ns_ = std::max(limit_ns_, static_cast<std::int64_t>(segment_->header().timeout_ns));
  }

  /// To be asked about every os::kGlanceNs. True when it got nothing done for the run's
  /// timeout. Time in which we ourselves did not run does not count.
  bool stuck() {
    const std::int64_t now = os::now_ns();
    if (now - looked_ns_ < os::kGlanceNs) return false;
    const std::int64_t passed = looked_ns_ == 0 ? 0 : std::min(now - looked_ns_, 2 * os::kGlanceNs);
    looked_ns_ = now;
    const pid_t before = who_;
    if (!is_child_) who_ = os::holder_of_lock(path_);
    const std::uint64_t counted_before = std::exchange(count_, count());
    const bool has_more = count_ != counted_before || who_ != before;
    fruitless_ns_ = has_more ? 0 : fruitless_ns_ + passed;
    idle_ns_ = works() || has_more ? 0 : idle_ns_ + passed;
    return idle_ns_ >= limit_ns_ || fruitless_ns_ >= kMostFruitlessNs;
  }

  /// "process 4711 stores it, is stopped, and has got nothing done for 60 s", and what to do.
  std::string why() const {
    const std::string number = std::to_string(who_);
    const bool stopped = os::is_stopped(who_);
    const auto seconds =
        static_cast<std::uint64_t>(std::max(idle_ns_, fruitless_ns_) / 1'000'000'000);
    return (who_ > 0 ? "process " + number : "a process of another container") + " stores it, " +
           (stopped ? "is stopped, " : "") + "and has got nothing done for " +
           counted(seconds, "second") +
           (stopped ? ": let it go on (kill -CONT " + number + "), or end it and try again"
                    : ": end it and try again, if it does not go on");
  }

 private:
  std::uint64_t count() const noexcept {
    return segment_ ? segment_->server_state().progress.load(std::memory_order_relaxed) : 0;
  }

  // Before its first result there is none to count: it starts, reads the XML, opens the stores.
  bool works() {
    const std::int64_t before = std::exchange(processor_ns_, os::processor_time_of(who_));
    return processor_ns_ - before >= kLeastWorkNs;
  }

  std::string path_;
  Result<shm::Segment> segment_;
  const bool is_child_;
  pid_t who_;
  std::uint64_t count_;  // of what it got done
  std::int64_t processor_ns_ = 0, looked_ns_ = 0;
  std::int64_t limit_ns_, idle_ns_ = 0, fruitless_ns_ = 0;
};

std::string path_of(const KilledSession& session) { return "/dev/shm/" + session.what.segment; }

// What it says, and how it ends. False when it is stuck before that.
bool await_end(const os::Child& child, DrainWatch* watch, std::string* report, int* status) {
  for (bool open = true; open || !os::reap(child.pid, os::kGlanceNs, status);) {
    if (watch->stuck()) return false;
    open = open && os::read_report(child, os::kGlanceNs, report);
  }
  return true;
}

// With the segment everything else of the session goes, also where who removed the segment is not that far yet.
void remove_rest() {
  node::sweep({node::runtime_folder_name()}, node::Sweep::remove, shm::must_stay);
}

void note_stored(KilledSession* session, const Json& report) {
  remove_rest();
  session->outcome = "stored";
  session->iterations = report.value("iterations", std::uint64_t{0});
  session->blocks = report.value("blocks", std::uint64_t{0});
  session->bytes = report.value("bytes", std::uint64_t{0});
  session->lost = report.value("lost", std::uint64_t{0});
}

// Another process was faster: it ends, is killed, or is stuck.
void await_other(KilledSession* session) {
  DrainWatch watch(session->what.segment);
  while (os::try_lock(path_of(*session)).held) {
    if (watch.stuck()) {
      session->problem = watch.why();
      return;
    }
    os::pause_shortly();
  }
  const bool gone = !node::segment_is_there(session->what.segment);
  if (gone) remove_rest();
  session->outcome = gone ? "stored" : "in memory";
  session->problem = gone ? "" : "another process began to store it, and did not end with that";
}

// By the run that it was a part of.
std::pair<std::string, std::string> run_of(const KilledSession& session) {
  return session.held.run ? std::pair(session.held.run->session, session.held.run->folder)
                          : std::pair(session.what.session, std::string());
}

void drain_one(KilledSession* session) {
  const Result<os::Child> child =
      os::spawn({os::path_beside_program("leatd"), "--drain", session->what.segment, "--report-fd",
                 std::to_string(os::kReportFd)});
  if (!child) {
    session->problem = child.error().message;
    return;
  }
  DrainWatch watch(session->what.segment, child->pid);
  std::string report;
  int status = 0;
  if (!await_end(*child, &watch, &report, &status)) {
    session->problem = watch.why();
    return;
  }
  const Json facts = Json::parse(report, nullptr, false);
  if (facts.is_object()) return note_stored(session, facts);
  const std::size_t line_end = report.find('\n');
  if (line_end == std::string::npos) {
    session->problem = "its server " + os::describe_end(status) + " before all was stored";
    return;
  }
  const auto code = static_cast<Status>(std::atoi(report.c_str()));
  if (code == Status::ERROR_STATE) return await_other(session);
  if (!node::segment_is_there(session->what.segment)) return note_stored(session, Json::object());
  session->problem = report.substr(line_end + 1);
}

}  // namespace

void drain(const std::vector<KilledSession*>& sessions) {
  std::map<std::pair<std::string, std::string>, std::vector<KilledSession*>> runs;
  for (KilledSession* each : sessions)
    if (each->held.problem.empty()) runs[run_of(*each)].push_back(each);
  for (const auto& [run, parts] : runs) {
    std::vector<std::jthread> at_work;
    for (KilledSession* each : parts) at_work.emplace_back([each] { drain_one(each); });
  }
}

void give_up(KilledSession* session) {
  const os::LockTry attempt = os::try_lock(path_of(*session));
  if (!attempt.lock || os::bytes_are_locked(attempt.lock, 0, 0)) {
    session->problem = "it is in use";
    return;
  }
  if (::unlink(path_of(*session).c_str()) == 0) session->outcome = "given up";
}

std::string sentence(const Json& session) {
  const std::string folder = text_in(session, "folder"), outcome = text_in(session, "outcome");
  const std::string problem = text_in(session, "problem");
  std::string text =
      "session " + text_in(session, "session") + (folder.empty() ? "" : " of " + folder) + ": " +
      counted(count_in(session, "iterations"), "iteration") + ", " +
      counted(count_in(session, "blocks"), "block") + ", " + shown_bytes(session, "bytes");
  if (outcome == "stored") text += " that were in memory are stored now";
  if (outcome == "given up") text += " were in memory and are LOST, as you asked";
  if (outcome == "in memory") text += " are in memory";
  if (const std::uint64_t lost = count_in(session, "lost"); lost > 0)
    text += ", but " + counted(lost, "write") + " are lost: see the ledger";
  return text + (problem.empty() ? "" : ": " + problem);
}

Json json_of(const KilledSession& session) {
  const std::string folder = session.folder();
  return {{"session", session.what.session},
          {"segment", "/dev/shm/" + session.what.segment},
          {"folder", folder.empty() ? Json(nullptr) : Json(folder)},
          {"outcome", session.outcome},
          {"iterations", session.iterations},
          {"blocks", session.blocks},
          {"bytes", session.bytes},
          {"lost", session.lost},
          {"problem", session.problem}};
}

}  // namespace leat::cli

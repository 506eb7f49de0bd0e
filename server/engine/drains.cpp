// SPDX-License-Identifier: Apache-2.0
#include "server/engine/drains.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/memory.hpp"
#include "lib/os/process.hpp"
#include "lib/shm/undrained.hpp"

namespace leat::server {
namespace {

// As many servers in a row have died with it: the next one would too. `leat recover` tries again.
constexpr std::uint32_t kMostInVain = 16;
// What is being stored for longer than that is stuck.
constexpr std::int64_t kMostWaitNs = 600'000'000'000;
// leat_init waits twice as long for a server.
constexpr std::int64_t kMostStartWaitNs = 60'000'000'000;
// Of a drainer that has stored all.
constexpr std::int64_t kItsEndNs = 2'000'000'000;
// Of a server; see Ending::exit_status.
constexpr int kEndedWithLosses = 1;

}  // namespace

void Drains::start() {
  for (const node::UndrainedOne& one : found_) start_one(one);
  found_.clear();
}

void Drains::start_one(const node::UndrainedOne& one) {
  const shm::Undrained held = shm::undrained_in(one.segment);
  if (!held.run && held.problem.empty())
    return;  // another process was faster, while this one waited
  std::error_code error;
  const bool is_here = held.run && std::filesystem::equivalent(held.run->folder, ".", error);
  if (one.is_being_stored) {  // who does it says what came of it
    started_.push_back({one.segment, one.session, 0, is_here, 0, true});
    return;
  }
  const std::string what =
      fmt::format("session {} was killed with {} of {} in memory", one.session,
                  counted(held.iterations.size(), "iteration"), held.run ? held.run->folder : "?");
  if (!held.problem.empty() || held.failovers_in_vain >= kMostInVain) {
    log_->warn("{}, which cannot be stored now ({}): `leat recover {}` tries again", what,
               held.problem.empty() ? "servers that tried have died" : held.problem, one.session);
    return;
  }
  const Result<pid_t> pid =
      os::start({os::path_beside_program("leatd"), "--drain", one.segment}, {});
  if (!pid) {
    log_->warn("{}: {}; `leat recover {}` tries again", what, pid.error().message, one.session);
    return;
  }
  log_->info("{}: process {} stores them", what, *pid);
  started_.push_back({one.segment, one.session, *pid, is_here});
  ++unreported_;
}

void Drains::store_in_turn() {
  const os::Deadline deadline = os::Deadline::in_ns(kMostStartWaitNs);
  for (const node::UndrainedOne& one : found_) {
    const std::size_t before = started_.size();
    start_one(one);
    if (started_.size() > before && started_.back().is_here) await(started_.back(), deadline);
  }
  found_.clear();
}

void Drains::await(One& each, const os::Deadline& deadline) {
  while (goes_on(each) && !deadline.passed()) os::pause_shortly();
}

// As long as the segment is there and somebody has it: our process, or one that was faster.
bool Drains::goes_on(One& each) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (each.pid > 0 && !os::reap(each.pid, 0, &each.status)) return true;
  each.pid = 0;
  return os::try_lock("/dev/shm/" + each.segment).held;
}

void Drains::report(bool at_end) {
  for (One& each : started_) {
    if (each.is_told) continue;
    bool lives = goes_on(each);
    if (lives && !at_end) continue;
    // It is done, and about to end.
    if (lives && each.pid > 0 && !node::segment_is_there(each.segment))
      lives = !os::reap(each.pid, kItsEndNs, &each.status);
    each.is_told = true;
    --unreported_;
    if (lives)
      log_->info("session {}, which was killed: what it had in memory is still being stored",
                 each.session);
    else
      log_outcome(each);
  }
}

// With the segment goes what is stored, or said to be lost.
void Drains::log_outcome(const One& one) {
  const std::string what = "session " + one.session + ", which was killed: what it had in memory ";
  if (node::segment_is_there(one.segment)) {
    log_->warn("{}is not stored: its server {}; `leat recover {}` tries again", what,
               os::describe_end(one.status), one.session);
  } else if (os::ended_with(one.status, kEndedWithLosses)) {
    log_->warn("{}is stored, but for what its ledger says", what);
  } else {
    log_->info("{}is stored", what);
  }
}

void Drains::await_here() {
  const os::Deadline deadline = os::Deadline::in_ns(kMostWaitNs);
  for (One& each : started_) {
    while (each.is_here && goes_on(each)) {
      if (hurry_.load(std::memory_order_relaxed) || deadline.passed()) return;
      os::pause_shortly();
    }
  }
}

void Drains::await_all() {
  const os::Deadline deadline = os::Deadline::in_ns(kMostStartWaitNs);
  for (One& each : started_) await(each, deadline);
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Programs that end when we do, with all that they have started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/process.hpp"

namespace leat::os {

// What the system says of a process: another one of this user, without its notice, or this one.

/// Its command line; empty when there is no such process, or it is a zombie.
std::vector<std::string> arguments_of(pid_t pid);

/// Processor time that it has had so far, in ns; 0 when it cannot be known.
std::int64_t processor_time_of(pid_t pid) noexcept;

/// By a signal, or by a debugger.
bool is_stopped(pid_t pid);

/// Who has taken the lock (flock) of a file; 0 when nobody has, or one of another container.
pid_t holder_of_lock(const std::string& path);

/// What this process has open for writing, but for its standard streams, as the system names it,
/// each once. No file system is asked, so it waits for none; what it is, and what it is called now,
/// descriptor.hpp finds out.
std::vector<std::string> targets_open_for_writing();

/// Processes of this user of which a program of this name was started.
std::vector<pid_t> processes_called(const std::string& program);

// A process and all that it has started, however far that has gone: into a session of its own, to
// init when its parent ended. A family is known by a mark in the environment, which children
// inherit, by its session, and by who is whose parent.

/// A line for the environment of a process that this one starts: "LEAT_WORKER=...". No two are the
/// same.
std::string family_mark();

/// Kills the leader of a session and its whole family, until nobody of it is left or `limit_ns` has
/// passed. The leader may be dead, but its status was not taken yet. False when somebody is left.
bool end_family(pid_t leader, const std::string& mark, std::int64_t limit_ns);

/// Kills families of this user whose maker has died. A maker in another container is none.
/// Returns how many processes these were.
int end_orphaned_families();

// A program that ends when we do, and that somebody may kill or stop at any moment of its life.

/// `ended`: it is in the process table until reap().
enum class ChildState { runs, stopped, ended };
ChildState state_of_child(pid_t child) noexcept;

/// How often a child is looked at while somebody waits for it.
inline constexpr std::int64_t kGlanceNs = 50'000'000;

/// Finds out that a child is stopped for longer than one should wait for it. Time in which we
/// ourselves did not run does not count: a job that is suspended as a whole has lost nothing.
class StopWatch {
 public:
  explicit StopWatch(std::int64_t limit_ns) noexcept : limit_ns_(limit_ns) {}
  /// To be asked about every kGlanceNs.
  bool too_long(ChildState state) noexcept;

 private:
  std::int64_t limit_ns_, stopped_ns_ = 0, looked_ns_ = 0;
};

struct DependentPlan {
  std::vector<std::string> arguments;
  std::vector<Passed> passed{};
  std::vector<std::string> variables{};  ///< "NAME=value", above those of the caller
  std::int64_t stop_limit_ns = 60'000'000'000;
};

/// Starts a program like start(), in a session of its own, that the system kills when the calling
/// thread ends, from before it is that program on. So the thread has to live as long as the
/// program. With `stopped` set it was stopped before it was that program, for longer than the
/// limit, and was killed.
Result<pid_t> start_dependent(const DependentPlan& plan, bool* stopped);

// Running another program to its end, like popen, with a time limit.

/// Runs `arguments[0]` with `input` as its standard input, and waits till it has closed its standard
/// output and ended; what it wrote there. Its errors go to the caller's standard error. When it has
/// not ended in time, it and what it started are killed: ERROR_TIMEOUT. ERROR_SERVER when it cannot
/// be started or ends with another status than 0; the message says how it ended.
Result<std::string> run_program(const std::vector<std::string>& arguments, const std::string& input,
                                std::int64_t timeout_ns);

}  // namespace leat::os

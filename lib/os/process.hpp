// SPDX-License-Identifier: Apache-2.0
// Processes: which one it was, and starting another program.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::os {

// Which process it was: its id, which the system uses again and each container counts anew, with
// the time of its start and the process namespace of both, which make it the only one.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start =
      0;  ///< clock ticks since the machine was started, as /proc/<pid>/stat has it
  std::uint64_t space = 0;  ///< inode of its process namespace, /proc/<pid>/ns/pid; 0: not known
};

ProcessId this_process();
/// Inode of the process namespace that we are in; 0 when the system does not tell.
std::uint64_t this_space() noexcept;

/// False for one that has ended, also when nobody has asked for its status yet, and when its id
/// belongs to another one now, and when it is of another namespace, which cannot be seen from here.
/// Good for what is shown to people; what must not go wrong asks a lock.
bool lives(const ProcessId& process);

/// Seconds since 1970.
std::int64_t time_of_start(const ProcessId& process) noexcept;

// Starting another program.

/// A started program: its process id, and the end of a pipe to which the program writes as
/// descriptor kReportFd.
struct Child {
  pid_t pid = -1;
  UniqueFd report;
};

/// The descriptor under which a started program finds its report pipe.
inline constexpr int kReportFd = 3;

/// Starts `arguments[0]` in a session of its own (no signal of the terminal or of a launcher's
/// process group reaches it), with standard input from /dev/null, standard output to the caller's
/// standard error, and SIGTERM and SIGINT blocked: it takes them when it is ready to end well.
Result<Child> spawn(const std::vector<std::string>& arguments);

/// Adds to `text` what the program has written, waiting up to `timeout_ns` for it. False at its
/// end.
bool read_report(const Child& child, std::int64_t timeout_ns, std::string* text);

/// A descriptor of ours that a started program finds under another number.
struct Passed {
  int descriptor;
  int as;
};

/// What a program is started with, all of it made before there is a process: between fork and exec none may ask for
/// memory. start() and start_dependent() (child_process.hpp) both take it.
struct PreparedProgram {
  /// `passed`: copies are above all targets, since a descriptor that is its own target would stay close-on-exec, and one
  /// may be the target of another. `variables` come before those of this process.
  PreparedProgram(const std::vector<std::string>& arguments, const std::vector<Passed>& passed,
                  const std::vector<std::string>& variables);
  /// False: this process may have no more descriptors open.
  bool is_whole() const noexcept;
  UniqueFd copy_above(int descriptor) const noexcept;

  std::vector<char*> argv, environment;
  std::vector<UniqueFd> copies;
  std::vector<Passed> passed;
  int above = 3;  ///< the least descriptor that is no target
};

/// Starts `arguments[0]` like spawn, but with no signal blocked, and with these descriptors above
/// its own and environment variables ("NAME=value", above those of the caller). It ends with the
/// caller at the latest only when it sees to that itself.
Result<pid_t> start(const std::vector<std::string>& arguments, const std::vector<Passed>& passed,
                    const std::vector<std::string>& variables = {});

/// The path of a program: `name` itself when it has a '/', else the first of that name in PATH that
/// may be run. "" when there is none.
std::string find_program(const std::string& name);

/// Closes all descriptors from `first` up: a server must not keep a launcher's sockets or a user's
/// files open.
void close_from(int first) noexcept;

/// Gives the calling thread a folder, a umask and descriptors of its own, which those have too that
/// it starts: of descriptors only the standard streams. False, with errno, when the kernel refuses.
bool stand_apart_in_process() noexcept;

/// While it exists no signal is for this thread, nor for those that it starts.
class WithoutSignals {
 public:
  WithoutSignals() noexcept;
  ~WithoutSignals();
  WithoutSignals(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

/// Lets go of the folder and the standard streams that the starter gave, for a program that
/// outlives it.
void stand_apart() noexcept;

/// Waits up to `timeout_ns` for a child to end and takes it out of the process table. False when it
/// still runs. `status`, when given, gets what waitpid tells.
bool reap(pid_t child, std::int64_t timeout_ns, int* status = nullptr) noexcept;

/// "was killed by signal 9 (Killed)" or "ended with status 3", of what waitpid tells.
std::string describe_end(int status);

/// Whether somebody ended it, by SIGKILL or what asks a program to end, and not the program itself.
bool was_killed(int status) noexcept;
/// Whether it ended by itself, with that code.
bool ended_with(int status, int code) noexcept;

/// Name of this machine, as the system has it: with its domain, where it was given one.
std::string node_name();

/// The same without its domain.
std::string host_name();

/// Absolute path; "" when it is not there any more.
std::string current_folder();

/// Absolute path of the running program's file; "" when the system does not tell.
std::string executable_path();

/// Absolute path of what is installed at `relative` to the folder of Leat's programs: that of the
/// running one, or where this code is in a library of a server, that of leatd.
std::string path_beside_program(const std::string& relative);

/// "No such file or directory" for ENOENT, thread safe.
std::string errno_text(int code);

/// Each child that this process forks calls it first, while it has only one thread. False when the
/// system cannot see to that.
bool call_in_forked_children(void (*function)()) noexcept;

}  // namespace leat::os

// SPDX-License-Identifier: Apache-2.0
// Starting another program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

/// A started program: its process id, and the end of a pipe to which the program writes as descriptor kReportFd.
struct Child {
  pid_t pid = -1;
  UniqueFd report;
};

/// The descriptor under which a started program finds its report pipe.
inline constexpr int kReportFd = 3;

/// Starts `arguments[0]` in a session of its own (no signal of the terminal or of a launcher's process group reaches
/// it), with standard input from /dev/null, standard output to the caller's standard error, and no signal blocked.
Result<Child> spawn(const std::vector<std::string>& arguments);

/// Closes all descriptors from `first` up: a server must not keep a launcher's sockets or a user's files open.
void close_from(int first) noexcept;

/// Waits up to `timeout_ns` for a child to end and takes it out of the process table. False when it still runs.
bool reap(pid_t child, std::int64_t timeout_ns) noexcept;

/// Absolute path of the running program's file; "" when the system does not tell.
std::string executable_path();

/// "No such file or directory" for ENOENT, thread safe.
std::string errno_text(int code);

}  // namespace leat::platform

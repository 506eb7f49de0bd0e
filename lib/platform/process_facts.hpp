// SPDX-License-Identifier: Apache-2.0
// What the system says of a process: another one of this user, without its notice, or this one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace leat::platform {

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
/// open_target.hpp finds out.
std::vector<std::string> targets_open_for_writing();

/// Processes of this user of which a program of this name was started.
std::vector<pid_t> processes_called(const std::string& program);

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
// Which process it was: its id, which the system uses again and each container counts anew, with
// the time of its start and the process namespace of both, which make it the only one.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace leat::platform {

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

}  // namespace leat::platform

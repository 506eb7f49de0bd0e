// SPDX-License-Identifier: Apache-2.0
// Which process it was: its id, which the system uses again, with the time of its start, which
// makes it the only one.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace leat::platform {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start =
      0;  ///< clock ticks since the machine was started, as /proc/<pid>/stat has it
};

ProcessId this_process();

/// False for one that has ended, also when nobody has asked for its status yet, and when its id
/// belongs to another one now. Processes of another container cannot be seen: what must not go
/// wrong needs a lock as well.
bool lives(const ProcessId& process);

/// Seconds since 1970.
std::int64_t time_of_start(const ProcessId& process) noexcept;

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
// What the control groups of this process (cgroups, versions 1 and 2: containers, batch systems)
// leave it of memory. Beyond that the kernel kills one of their processes.
#pragma once

#include <cstdint>
#include <string>

namespace leat::platform {

/// Bytes that can still be taken, files in the page cache counted as free; UINT64_MAX: no limit, or
/// none that can be told.
std::uint64_t memory_room();

/// The same with the text of /proc/self/cgroup and the folder of the groups given.
std::uint64_t memory_room_in(const std::string& groups, const std::string& folder);

}  // namespace leat::platform

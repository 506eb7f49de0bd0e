// SPDX-License-Identifier: Apache-2.0
// Pages of memory, and how much of it there is for this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/base/status.hpp"
#include "lib/base/text.hpp"

namespace leat::os {

// Pages of shared memory: how much there is, taking them in advance.

/// Free bytes in the file system that holds POSIX shared memory (/dev/shm); 0 when it cannot be
/// told.
std::uint64_t shared_memory_free() noexcept;

/// Gives the shared-memory object `fd` its size and takes its first `at_once` bytes. ERROR_MEMORY
/// names both numbers when there is less than all of it, less what other segments of Leat's have
/// yet to take: a machine without enough memory is found here, not by a SIGBUS in the middle of a
/// run. What is not taken at once, somebody else may take.
Result<void> reserve_shared_memory(int fd, std::uint64_t bytes, std::uint64_t at_once);

/// Takes the pages of a range of it for good. 0, or the errno that says why not: ENOSPC.
int take_shared_memory(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;

/// Takes and maps all pages of a range now instead of at first touch. False when it cannot, or
/// where the kernel lacks it (before Linux 5.14): the pages are then mapped at first use.
bool populate(void* address, std::size_t bytes) noexcept;

/// Asks for huge pages in a range, where /dev/shm has them (its mount option `huge`). Advice only.
void prefer_huge_pages(void* address, std::size_t bytes) noexcept;

using leat::format_bytes;

// Pages of this process that it must not write.

/// From now on a write to a page that lies wholly in the range ends this process (SIGSEGV). False, with
/// errno, when the system cannot do it.
bool make_read_only(char* begin, char* end) noexcept;

// What the control groups of this process (cgroups, versions 1 and 2: containers, batch systems)
// leave it of memory. Beyond that the kernel kills one of their processes.

/// Bytes that can still be taken, files in the page cache counted as free; UINT64_MAX: no limit, or
/// none that can be told.
std::uint64_t memory_room();

/// The same with the text of /proc/self/cgroup and the folder of the groups given.
std::uint64_t memory_room_in(const std::string& groups, const std::string& folder);

}  // namespace leat::os

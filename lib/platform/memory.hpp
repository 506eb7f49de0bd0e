// SPDX-License-Identifier: Apache-2.0
// Pages of shared memory: how much there is, taking them in advance.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/bytes.hpp"
#include "lib/base/status.hpp"

namespace leat::platform {

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

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
// Pages of shared memory: how much there is, taking them in advance.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/bytes.hpp"
#include "lib/base/status.hpp"

namespace leat::platform {

/// Free bytes in the file system that holds POSIX shared memory (/dev/shm); 0 when it cannot be told.
std::uint64_t shared_memory_free() noexcept;

/// Gives the shared-memory object `fd` its size and takes the pages now, so that a machine without enough memory is
/// found here and not by a SIGBUS in the middle of a run. ERROR_MEMORY names both numbers.
Result<void> reserve_shared_memory(int fd, std::uint64_t bytes);

/// Maps all pages of a range now instead of at first touch; each process that attaches does this for itself.
/// Advice only: where the kernel lacks it (before Linux 5.14) the pages are touched at first use.
void populate(void* address, std::size_t bytes) noexcept;

using leat::format_bytes;

}  // namespace leat::platform

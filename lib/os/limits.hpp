// SPDX-License-Identifier: Apache-2.0
// What this process may have of descriptors and address space, and how fast a disk takes data.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.hpp"

namespace leat::platform {

// What this process may have of descriptors and address space: ulimit -n and -v.

/// Descriptors that this process may have open at a time.
std::uint64_t most_descriptors() noexcept;
/// As many as it may allow itself, up to what is of use.
void allow_more_descriptors() noexcept;

/// Bytes of address space that this process may have; UINT64_MAX: no limit.
std::uint64_t most_address_space() noexcept;
/// Bytes of it that are in use.
std::uint64_t address_space() noexcept;

/// "; the address space of a process is limited to 1.0 GiB (ulimit -v)", or "" when it is not.
std::string limit_hint();

// How fast a disk takes data.

/// Bytes a second that a new file in this folder takes, until they are on the disk. So many bytes are
/// written; the file never has a name that stays.
Result<double> disk_speed(const std::string& folder, std::uint64_t bytes);

}  // namespace leat::platform

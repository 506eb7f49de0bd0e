// SPDX-License-Identifier: Apache-2.0
// What this process may have of descriptors, address space and locked memory: ulimit -n, -v and -l.
#pragma once

#include <cstdint>
#include <string>

namespace leat::os {

/// Descriptors that this process may have open at a time.
std::uint64_t most_descriptors() noexcept;
/// The most that it may allow itself, ulimit -Hn; UINT64_MAX: no limit.
std::uint64_t descriptors_to_be_had() noexcept;
/// As many as it may allow itself, up to what is of use.
void allow_more_descriptors() noexcept;

/// Bytes of address space that this process may have; UINT64_MAX: no limit.
std::uint64_t most_address_space() noexcept;
/// Bytes of it that are in use.
std::uint64_t address_space() noexcept;

/// Bytes that it may lock in memory; UINT64_MAX: no limit.
std::uint64_t most_locked_memory() noexcept;

/// "; the address space of a process is limited to 1.0 GiB (ulimit -v)", or "" when it is not.
std::string limit_hint();

}  // namespace leat::os

// SPDX-License-Identifier: Apache-2.0
// A file in memory without a name, for what another process shall read.
#pragma once

#include <cstdint>
#include <string>

#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

/// `title` is seen in /proc only. Empty when the system has no descriptor left.
UniqueFd memory_file(const char* title) noexcept;

/// False when there is no memory for it.
bool write_at(int file, const void* data, std::uint64_t bytes, std::uint64_t offset) noexcept;

/// The first `most` bytes.
std::string text_of(int file, std::size_t most);

}  // namespace leat::platform

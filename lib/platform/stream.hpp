// SPDX-License-Identifier: Apache-2.0
// Bytes over a connected pair of sockets, with a time limit for the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/base/status.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

/// Two connected ends.
Result<std::pair<UniqueFd, UniqueFd>> stream_pair();

/// False when the other side is gone, or does not take all until `deadline_ns` of now_ns(). Never
/// raises SIGPIPE.
bool send_all(int stream, const void* data, std::size_t bytes, std::int64_t deadline_ns) noexcept;

enum class Arrived { all, late, ended };

Arrived receive_all(int stream, void* data, std::size_t bytes, std::int64_t deadline_ns) noexcept;

/// The other side has closed its end or died, whatever it said before.
bool stream_has_ended(int stream) noexcept;

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
// Bytes over a connected pair of sockets, with a time limit for the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "lib/base/status.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

/// Two connected ends.
Result<std::pair<UniqueFd, UniqueFd>> stream_pair();

/// Asked about every kGlanceNs while one waits for the other side: true when there is nobody to
/// wait for any more. A stream alone does not tell: whatever the other side has started may hold
/// its end open.
using GivenUp = std::function<bool()>;

/// False when the other side is gone, or does not take all until `deadline_ns` of now_ns(). Never
/// raises SIGPIPE.
bool send_all(int stream, const void* data, std::size_t bytes, std::int64_t deadline_ns,
              const GivenUp& given_up = {}) noexcept;

enum class Arrived { all, late, ended };

/// What was sent before the other side was given up arrives.
Arrived receive_all(int stream, void* data, std::size_t bytes, std::int64_t deadline_ns,
                    const GivenUp& given_up = {}) noexcept;

/// The other side has closed its end, whatever it said before. One that has died may have left its
/// end to others.
bool stream_has_ended(int stream) noexcept;

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
// The frames of leatd and a process beside it, between two hosts: the same bytes, over a connection of the run.
#pragma once

#include <cstdint>

#include "lib/comm/byte_stream.hpp"
#include "lib/frames/frame.hpp"

namespace leat::hosts {

inline constexpr std::int64_t kSecond = 1'000'000'000;  // in ns
/// Who waits so long waits for ever: a node that is gone is noticed by TCP.
inline constexpr std::int64_t kForEver = std::int64_t{1} << 60;
/// Of what the two ends say, in the first frame.
inline constexpr std::int64_t kHostVersion = 1;

// False, or no frame, when the connection is of no use any more. Each wait ends when for `limit_ns` nothing has moved.

bool send_frame(comm::ByteStream& stream, const Frame& frame, std::int64_t limit_ns);
/// One with more than `most_bytes` of data is malformed.
FrameStatus receive_frame(comm::ByteStream& stream, Frame* frame, std::uint64_t most_bytes,
                          std::int64_t limit_ns);

}  // namespace leat::hosts

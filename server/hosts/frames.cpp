// SPDX-License-Identifier: Apache-2.0
#include "server/hosts/frames.hpp"

#include <cstddef>
#include <string>

namespace leat::hosts {

bool send_frame(comm::ByteStream& stream, const Frame& frame, std::int64_t limit_ns) {
  const std::string start = start_of(frame);
  return stream.write(start.data(), start.size(), limit_ns) &&
         stream.write(frame.data.data(), frame.data.size(), limit_ns);
}

FrameStatus receive_frame(comm::ByteStream& stream, Frame* frame, std::uint64_t most_bytes,
                          std::int64_t limit_ns) {
  const auto read = [&](void* to, std::size_t bytes) {
    return stream.read(to, bytes, limit_ns) ? FrameStatus::frame : FrameStatus::ended;
  };
  return read_frame(read, most_bytes, frame);
}

}  // namespace leat::hosts

// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/frame.hpp"

#include "lib/platform/stream.hpp"

namespace leat::server {
namespace {

// A worker that asks for more has lost its mind: no result of a script is so large.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 36;

}  // namespace

bool send_frame(int socket, const Frame& frame, std::int64_t deadline_ns) {
  const std::string head = frame.head.dump();
  const std::uint64_t lengths[2] = {head.size(), frame.data.size()};
  std::string start(reinterpret_cast<const char*>(lengths), sizeof lengths);
  start += head;
  return platform::send_all(socket, start.data(), start.size(), deadline_ns) &&
         platform::send_all(socket, frame.data.data(), frame.data.size(), deadline_ns);
}

FrameStatus receive_frame(int socket, Frame* frame, std::int64_t deadline_ns) {
  using platform::Arrived;
  const auto take = [&](void* to, std::size_t bytes) {
    switch (platform::receive_all(socket, to, bytes, deadline_ns)) {
      case Arrived::all:
        return FrameStatus::frame;
      case Arrived::late:
        return FrameStatus::late;
      case Arrived::ended:
        return FrameStatus::ended;
    }
    return FrameStatus::ended;
  };
  std::uint64_t lengths[2] = {};
  FrameStatus status = take(lengths, sizeof lengths);
  if (status != FrameStatus::frame) return status;
  if (lengths[0] > kMostBytes || lengths[1] > kMostBytes) return FrameStatus::ended;
  std::string head(lengths[0], '\0');
  status = take(head.data(), head.size());
  if (status != FrameStatus::frame) return status;
  frame->data.resize(lengths[1]);
  status = take(frame->data.data(), frame->data.size());
  if (status != FrameStatus::frame) return status;
  frame->head = nlohmann::json::parse(head, nullptr, false);
  return frame->head.is_object() ? FrameStatus::frame : FrameStatus::ended;
}

}  // namespace leat::server

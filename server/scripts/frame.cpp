// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/frame.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "lib/platform/clock.hpp"

namespace leat::server {
namespace {

// A worker that asks for more has lost its mind: no result of a script is so large.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 36;

// False when the deadline passed, or the wait failed.
bool wait_for(int socket, short what, std::int64_t deadline_ns) {
  for (;;) {
    const std::int64_t left_ns = deadline_ns - platform::now_ns();
    if (left_ns <= 0) return false;
    pollfd entry{socket, what, 0};
    const auto ms = static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, INT_MAX));
    const int ready = poll(&entry, 1, ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool send_all(int socket, const char* from, std::size_t bytes, std::int64_t deadline_ns) {
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      from += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket, POLLOUT, deadline_ns)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

FrameStatus receive_all(int socket, char* to, std::size_t bytes, std::int64_t deadline_ns) {
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, to, bytes, MSG_DONTWAIT);
    if (got > 0) {
      to += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for(socket, POLLIN, deadline_ns)) return FrameStatus::late;
    } else if (got == 0 || errno != EINTR) {
      return FrameStatus::ended;
    }
  }
  return FrameStatus::frame;
}

}  // namespace

bool send_frame(int socket, const Frame& frame, std::int64_t deadline_ns) {
  const std::string head = frame.head.dump();
  const std::uint64_t lengths[2] = {head.size(), frame.data.size()};
  std::string start(reinterpret_cast<const char*>(lengths), sizeof lengths);
  start += head;
  return send_all(socket, start.data(), start.size(), deadline_ns) &&
         send_all(socket, frame.data.data(), frame.data.size(), deadline_ns);
}

FrameStatus receive_frame(int socket, Frame* frame, std::int64_t deadline_ns) {
  std::uint64_t lengths[2] = {};
  FrameStatus status =
      receive_all(socket, reinterpret_cast<char*>(lengths), sizeof lengths, deadline_ns);
  if (status != FrameStatus::frame) return status;
  if (lengths[0] > kMostBytes || lengths[1] > kMostBytes) return FrameStatus::ended;
  std::string head(lengths[0], '\0');
  status = receive_all(socket, head.data(), head.size(), deadline_ns);
  if (status != FrameStatus::frame) return status;
  frame->data.resize(lengths[1]);
  status = receive_all(socket, frame->data.data(), frame->data.size(), deadline_ns);
  if (status != FrameStatus::frame) return status;
  frame->head = nlohmann::json::parse(head, nullptr, false);
  return frame->head.is_object() ? FrameStatus::frame : FrameStatus::ended;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "lib/platform/clock.hpp"
#include "lib/platform/process.hpp"

namespace leat::platform {
namespace {

// False when the deadline passed, or the wait failed.
bool wait_for(int stream, short what, std::int64_t deadline_ns) noexcept {
  while (const int ms = left_ms(deadline_ns)) {
    pollfd entry{stream, what, 0};
    const int ready = poll(&entry, 1, ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> stream_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{Status::ERROR_SYSTEM, "cannot make a socket: " + errno_text(errno)};
  }
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool send_all(int stream, const void* data, std::size_t bytes, std::int64_t deadline_ns) noexcept {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(stream, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      from += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(stream, POLLOUT, deadline_ns)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Arrived receive_all(int stream, void* data, std::size_t bytes, std::int64_t deadline_ns) noexcept {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::recv(stream, to, bytes, MSG_DONTWAIT);
    if (got > 0) {
      to += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for(stream, POLLIN, deadline_ns)) return Arrived::late;
    } else if (got == 0 || errno != EINTR) {
      return Arrived::ended;
    }
  }
  return Arrived::all;
}

bool stream_has_ended(int stream) noexcept {
  pollfd entry{stream, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "lib/platform/child_process.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/process.hpp"

namespace leat::platform {
namespace {

enum class Wait { over, late, given_up };

// Over when the stream may be tried again.
Wait wait_for(int stream, short what, std::int64_t deadline_ns, const GivenUp& given_up) noexcept {
  constexpr int kGlanceMs = static_cast<int>(kGlanceNs / 1'000'000);
  while (const int ms = left_ms(deadline_ns)) {
    pollfd entry{stream, what, 0};
    const int ready = poll(&entry, 1, given_up ? std::min(ms, kGlanceMs) : ms);
    if (ready > 0) return Wait::over;
    if (ready < 0 && errno != EINTR) return Wait::late;
    if (given_up && given_up()) return Wait::given_up;
  }
  return Wait::late;
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> stream_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{Status::ERROR_SYSTEM, "cannot make a socket: " + errno_text(errno)};
  }
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool send_all(int stream, const void* data, std::size_t bytes, std::int64_t deadline_ns,
              const GivenUp& given_up) noexcept {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(stream, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      from += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (wait_for(stream, POLLOUT, deadline_ns, given_up) != Wait::over) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Arrived receive_all(int stream, void* data, std::size_t bytes, std::int64_t deadline_ns,
                    const GivenUp& given_up) noexcept {
  char* to = static_cast<char*>(data);
  for (Wait wait = Wait::over; bytes > 0;) {
    const ssize_t got = ::recv(stream, to, bytes, MSG_DONTWAIT);
    if (got > 0) {
      to += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (wait == Wait::given_up) return Arrived::ended;
      wait = wait_for(stream, POLLIN, deadline_ns, given_up);
      if (wait == Wait::late) return Arrived::late;
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

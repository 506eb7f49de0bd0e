// SPDX-License-Identifier: Apache-2.0
#include "lib/os/local_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::os {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{Status::ERROR_SYSTEM,
                 "the path of the session's socket has " + std::to_string(path.size()) +
                     " characters, but the system allows " +
                     std::to_string(sizeof address.sun_path - 1) +
                     ": set LEAT_RUNTIME_DIR to a shorter folder (" + path + ")"};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Ranks come all at once; of others a few do.
int most_waiting(SocketKind kind) { return kind == SocketKind::stream ? 64 : 1024; }

UniqueFd open_socket(SocketKind kind) {
  const int type = kind == SocketKind::stream ? SOCK_STREAM : SOCK_SEQPACKET;
  return UniqueFd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int connect_at(const UniqueFd& socket, const sockaddr_un& address) noexcept {
  int code = 0;
  do {
    code = connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (code != 0 && errno == EINTR);
  return code;
}

ucred credentials_of_peer(int connection) noexcept {
  ucred peer{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

bool is_own_user(int connection) noexcept {
  return credentials_of_peer(connection).uid == geteuid();
}

bool wait_for(int socket, short what, const Deadline& deadline) noexcept {
  for (;;) {
    pollfd entry{socket, what, 0};
    const int code = poll(&entry, 1, deadline.left_ms());
    if (code > 0) return true;
    if (code < 0 && errno != EINTR) return false;
    if (deadline.passed()) return false;
  }
}

// Room for one descriptor in a message.
union ControlBuffer {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

void attach_descriptor(msghdr& message, ControlBuffer& control, int descriptor) noexcept {
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
}

UniqueFd take_descriptor(msghdr& message) noexcept {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return {};
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return UniqueFd(descriptor);
}

}  // namespace

Result<UniqueFd> listen_at(const std::string& path, SocketKind kind) {
  Result<sockaddr_un> address = address_of(path);
  if (!address) return address.error();
  UniqueFd listener = open_socket(kind);
  ::unlink(path.c_str());
  const mode_t before = umask(0177);
  const int bound =
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(sockaddr_un));
  umask(before);
  if (bound != 0 || listen(listener.get(), most_waiting(kind)) != 0) {
    return Error{Status::ERROR_SYSTEM, "cannot listen at " + path + ": " + errno_text(errno)};
  }
  return listener;
}

Result<UniqueFd> connect_to(const std::string& path, SocketKind kind) {
  Result<sockaddr_un> address = address_of(path);
  if (!address) return address.error();
  UniqueFd connection = open_socket(kind);
  if (connect_at(connection, *address) != 0) {
    return Error{errno == EAGAIN ? Status::ERROR_TIMEOUT : Status::ERROR_SERVER,
                 "nobody listens at " + path + ": " + errno_text(errno)};
  }
  return connection;
}

bool somebody_listens(const std::string& path) {
  Result<sockaddr_un> address = address_of(path);
  if (!address) return false;
  const UniqueFd connection = open_socket(SocketKind::messages);
  return connect_at(connection, *address) == 0 || (errno != ECONNREFUSED && errno != ENOENT);
}

UniqueFd accept_own_user(int listener) noexcept {
  for (;;) {
    UniqueFd connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection || is_own_user(connection.get())) return connection;
  }
}

pid_t peer_of(int connection) noexcept { return credentials_of_peer(connection).pid; }

bool send_message(int socket, const void* data, std::size_t bytes, std::int64_t timeout_ns,
                  int descriptor) noexcept {
  iovec part{const_cast<void*>(data), bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  if (descriptor >= 0) attach_descriptor(message, control, descriptor);
  const Deadline deadline = Deadline::in_ns(timeout_ns);
  for (;;) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(bytes)) return true;
    if (sent < 0 && errno == EINTR) continue;
    if (sent >= 0 || errno != EAGAIN || !wait_for(socket, POLLOUT, deadline)) return false;
  }
}

Received receive_message(int socket, void* data, std::size_t bytes, std::int64_t timeout_ns,
                         UniqueFd* descriptor) noexcept {
  const Deadline deadline = Deadline::in_ns(timeout_ns);
  for (;;) {
    iovec part{data, bytes};
    ControlBuffer control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got >= 0) {
      UniqueFd passed = take_descriptor(message);
      if (got != static_cast<ssize_t>(bytes) || message.msg_flags & MSG_TRUNC) {
        return Received::closed;
      }
      if (descriptor) *descriptor = std::move(passed);
      return Received::message;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Received::closed;
    if (deadline.passed() || !wait_for(socket, POLLIN, deadline)) return Received::nothing;
  }
}

bool peer_is_gone(int socket) noexcept {
  char byte = 0;
  const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return false;
  if (got == 0) return true;
  return errno != EAGAIN && errno != EINTR;
}

}  // namespace leat::os

// SPDX-License-Identifier: Apache-2.0
#include "server/driver/control_sockets.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/os/clock.hpp"
#include "lib/os/local_socket.hpp"

namespace leat::server {
namespace {

// In one turn; the rest waits with the system.
constexpr std::size_t kReadAtOnce = std::size_t{16} * 1024;
constexpr int kAcceptAtOnce = 8;
constexpr std::int64_t kRestFactor = 9;
// A turn wakes the loop twice, each of which costs some 50 us where it spins on a core of its own.
constexpr std::int64_t kLeastRestNs = 2'000'000, kLongestRestNs = 1'000'000'000;
// What the system keeps for a reader, and what it keeps for one that gets the last word.
constexpr int kSendBuffer = 64 * 1024, kWideSendBuffer = 256 * 1024;

void set_send_buffer(int socket, int bytes) noexcept {
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

void add(const os::UniqueFd& epoll, int descriptor, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_MOD, descriptor, &event) != 0 && errno == ENOENT)
    epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &event);
}

std::string name_of_peer(int socket) { return "control/" + std::to_string(os::peer_of(socket)); }

}  // namespace

ControlSockets::ControlSockets(os::UniqueFd listener, control::Channel& channel)
    : listener_(std::move(listener)),
      channel_(channel),
      gate_(epoll_create1(EPOLL_CLOEXEC)),
      ready_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!listener_) return;
  add(ready_, listener_.get(), EPOLLIN);
  add(gate_, timer_.get(), EPOLLIN);
  add(gate_, ready_.get(), EPOLLIN);
}

void ControlSockets::turn(std::int64_t now_ns) {
  std::uint64_t expirations = 0;
  const ssize_t got = ::read(timer_.get(), &expirations, sizeof expirations);
  (void)got;
  const bool busy = serve(now_ns);
  if (!busy) return await_more(now_ns);
  rest(std::clamp(kRestFactor * (os::now_ns() - now_ns), kLeastRestNs, kLongestRestNs));
}

bool ControlSockets::serve(std::int64_t now_ns) {
  note_gone();
  bool any = accept(now_ns);
  any |= receive_all(now_ns);
  any |= channel_.work(now_ns);
  any |= send_all(now_ns);
  close_ended(now_ns);
  return any;
}

// Who has hung up, also where nothing is read or sent any more.
void ControlSockets::note_gone() noexcept {
  epoll_event events[64];
  const int count = epoll_wait(ready_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) {
    control::Connection* const connection = channel_.find(events[i].data.fd);
    if (connection && (events[i].events & (EPOLLHUP | EPOLLERR)) != 0) connection->lost();
  }
}

bool ControlSockets::accept(std::int64_t now_ns) {
  for (int i = 0; i < kAcceptAtOnce; ++i) {
    os::UniqueFd fd = os::accept_own_user(listener_.get());
    if (!fd) return i > 0 || errno != EAGAIN;  // no descriptor is left: not at once again
    const int number = fd.get();
    set_send_buffer(number, kSendBuffer);
    channel_.open(number, name_of_peer(number), now_ns);
    sockets_[number] = {std::move(fd), 0, false};
  }
  return true;
}

bool ControlSockets::receive_all(std::int64_t now_ns) {
  bool any = false;
  for (auto& [number, connection] : channel_.connections())
    any |= receive(number, connection, now_ns);
  return any;
}

bool ControlSockets::receive(int number, control::Connection& connection, std::int64_t now_ns) {
  if (!connection.wants_input()) return false;
  char bytes[kReadAtOnce];
  const ssize_t got = ::recv(number, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got > 0) connection.received({bytes, static_cast<std::size_t>(got)}, now_ns);
  if (got == 0) connection.input_ended();
  if (got < 0) connection.lost();
  return true;
}

bool ControlSockets::send_all(std::int64_t now_ns) {
  bool any = false;
  for (auto& [number, socket] : sockets_) {
    if (control::Connection* const connection = channel_.find(number))
      any |= send(socket, *connection, now_ns);
  }
  return any;
}

bool ControlSockets::send(Socket& socket, control::Connection& connection, std::int64_t now_ns) {
  if (connection.is_parting() && !std::exchange(socket.is_wide, true))
    set_send_buffer(socket.fd.get(), kWideSendBuffer);
  const std::string_view unsent = connection.unsent();
  if (unsent.empty()) return false;
  const ssize_t sent =
      ::send(socket.fd.get(), unsent.data(), unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) connection.lost();
  if (sent <= 0) return false;
  connection.sent(static_cast<std::size_t>(sent), now_ns);
  return true;
}

void ControlSockets::close_ended(std::int64_t now_ns) {
  for (auto each = sockets_.begin(); each != sockets_.end();) {
    const control::Connection* const connection = channel_.find(each->first);
    if (connection && !connection->is_over(now_ns)) {
      watch(each->first, *connection);
      ++each;
      continue;
    }
    channel_.close(each->first);
    each = sockets_.erase(each);
  }
}

void ControlSockets::watch(int number, const control::Connection& connection) {
  const std::uint32_t in = connection.wants_input() ? EPOLLIN : 0u;
  const std::uint32_t out = connection.unsent().empty() ? 0u : EPOLLOUT;
  Socket& socket = sockets_[number];
  const std::uint32_t wanted = in | out | EPOLLHUP;
  if (std::exchange(socket.watched, wanted) != wanted) add(ready_, number, wanted);
}

void ControlSockets::rest(std::int64_t ns) noexcept {
  if (!std::exchange(is_resting_, true)) add(gate_, ready_.get(), 0);
  set_timer(ns);
}

// What has come meanwhile opens the gate at once.
void ControlSockets::await_more(std::int64_t now_ns) noexcept {
  if (std::exchange(is_resting_, false)) add(gate_, ready_.get(), EPOLLIN);
  const std::int64_t deadline = channel_.next_deadline_ns();
  set_timer(deadline == INT64_MAX ? 0 : std::max<std::int64_t>(deadline - now_ns, kLeastRestNs));
}

void ControlSockets::wake() noexcept {
  if (!is_resting_) set_timer(1);
}

// 0: never.
void ControlSockets::set_timer(std::int64_t ns) noexcept {
  itimerspec when{};
  when.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

}  // namespace leat::server

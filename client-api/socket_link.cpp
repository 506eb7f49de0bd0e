// SPDX-License-Identifier: Apache-2.0
#include "client-api/socket_link.hpp"

#include <unistd.h>

#include <cstdint>

#include "lib/os/clock.hpp"

namespace leat::client {

using Received = shm::ToServer::Received;

Received SocketLink::handshake(const shm::Hello& hello, shm::Welcome* welcome,
                               std::int64_t limit_ns) {
  const platform::Deadline deadline = platform::Deadline::in_ns(limit_ns);
  if (!platform::send_message(socket_.get(), &hello, sizeof hello, deadline.left_ns()))
    return Received::closed;
  return platform::receive_message(socket_.get(), welcome, sizeof *welcome, deadline.left_ns(),
                                   &doorbell_);
}

void SocketLink::ring() noexcept {
  const std::uint64_t one = 1;
  const ssize_t written = ::write(doorbell_.get(), &one, sizeof one);
  (void)written;  // a full counter means that the doorbell rings already
}

bool SocketLink::is_gone() noexcept { return platform::peer_is_gone(socket_.get()); }

bool SocketLink::report(const shm::Report& report) noexcept {
  return platform::send_message(socket_.get(), &report, sizeof report, 0);
}

Received SocketLink::await(shm::DrainReport* report, std::int64_t limit_ns) noexcept {
  return platform::receive_message(socket_.get(), report, sizeof *report, limit_ns);
}

void SocketLink::close() noexcept {
  socket_.reset();
  doorbell_.reset();
}

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// The way to a server that is a process of its own: a local socket, and the doorbell that wakes it.
#pragma once

#include <utility>

#include "lib/os/descriptor.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {

class SocketLink final : public shm::ToServer {
 public:
  explicit SocketLink(platform::UniqueFd socket) : socket_(std::move(socket)) {}

  /// Says hello. `nothing`: there is no answer within that time.
  Received handshake(const shm::Hello& hello, shm::Welcome* welcome, std::int64_t limit_ns);

  void ring() noexcept override;
  bool is_gone() noexcept override;
  bool report(const shm::Report& report) noexcept override;
  Received await(shm::DrainReport* report, std::int64_t limit_ns) noexcept override;
  void close() noexcept override;

 private:
  platform::UniqueFd socket_;
  platform::UniqueFd doorbell_;  // an eventfd, with which the server welcomes
};

}  // namespace leat::client

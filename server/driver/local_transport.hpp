// SPDX-License-Identifier: Apache-2.0
// How processes of this node reach an engine: a local socket at which they say hello, and over
// which they get the doorbell of its host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::server {

class LocalTransport {
 public:
  /// What follows from what comes.
  struct Receiver {
    /// Its number as a client. Nothing: it is refused, and its connection is closed.
    std::function<std::optional<std::uint32_t>(const shm::Hello& hello,
                                               std::unique_ptr<shm::ToClient> connection)>
        hello;
    /// This client, by its number, has said something, or has hung up.
    std::function<void(std::uint32_t client)> message;
  };
  /// `watch` is called with each descriptor at which something may come. Without a listener nobody
  /// comes.
  LocalTransport(os::UniqueFd listener, std::string path, int doorbell,
                 std::function<void(int)> watch);

  /// Something has come at this descriptor.
  void on_readable(int descriptor, const Receiver& receiver);
  /// Takes the name away: who comes now finds nobody.
  void stop_listening();

 private:
  void accept();
  void receive_hello(os::UniqueFd socket, const Receiver& receiver);

  os::UniqueFd listener_;
  std::string path_;
  int doorbell_;
  std::function<void(int)> watch_;
  std::vector<os::UniqueFd> awaiting_hello_;  // connected, Hello not yet come
  std::map<int, std::uint32_t> clients_;      // by descriptor
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The way to one client beside the rings of the segment. A transport makes one per client that
// comes; closed when it is destroyed, by which the client knows.
#pragma once

#include "lib/platform/local_socket.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::server {

class Connection {
 public:
  using Received = platform::Received;
  virtual ~Connection() = default;

  /// The answer to its hello. False: it has gone meanwhile.
  virtual bool welcome(const shm::Welcome& welcome) = 0;
  /// The next report, without a wait.
  virtual Received take(shm::Report* report) = 0;
  /// The last word. False: it has gone. Waits for at most a second.
  virtual bool farewell(const shm::Farewell& farewell) = 0;
};

}  // namespace leat::server

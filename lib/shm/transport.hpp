// SPDX-License-Identifier: Apache-2.0
// How a client and its server reach each other beside the rings of the segment: hello, reports, the
// last word, and that one of them has gone. A transport makes both ends of it: over a local socket
// between processes (client-api/connect/rendezvous.hpp, server/driver/local_transport.hpp), by calls
// within one (server/driver/in_process.hpp).
#pragma once

#include <cstdint>

#include "lib/platform/local_socket.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::shm {

/// As the client has it. One thread at a time.
class ToServer {
 public:
  using Received = platform::Received;
  virtual ~ToServer() = default;

  /// The server sleeps, and there is something for it in a ring.
  virtual void ring() noexcept = 0;
  /// It has ended or died.
  virtual bool is_gone() noexcept = 0;
  /// Without a wait. False: it is not told.
  virtual bool report(const Report& report) noexcept = 0;
  /// The last word, if it comes within that time.
  virtual Received await(DrainReport* report, std::int64_t limit_ns) noexcept = 0;
  /// From now on the server sees nothing of this client; without freeing memory.
  virtual void close() noexcept = 0;
};

/// As the server has it; the client sees when it is destroyed. One thread.
class ToClient {
 public:
  using Received = platform::Received;
  virtual ~ToClient() = default;

  /// The answer to its hello. False: it has gone meanwhile.
  virtual bool welcome(const Welcome& welcome) = 0;
  /// The next report, without a wait.
  virtual Received take(Report* report) = 0;
  /// The last word. False: it has gone. Waits for at most a second.
  virtual bool drained(const DrainReport& report) = 0;
};

}  // namespace leat::shm

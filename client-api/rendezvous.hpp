// SPDX-License-Identifier: Apache-2.0
// Finds this node's server for a session, or starts it.
#pragma once

#include <string>

#include "client-api/launcher.hpp"
#include "lib/base/status.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::client {

struct Connection {
  platform::UniqueFd socket;
  platform::UniqueFd doorbell;  ///< eventfd that wakes the server
  std::string segment;          ///< name of the shared memory
  int server_pid = -1;          ///< of the server when this process started it, else -1
};

/// Every wait in it is bounded; all errors of a server that could not start are in the message.
Result<Connection> connect_or_start(const std::string& config, const Ranks& ranks);

/// Path of leatd: $LEAT_SERVER, beside this library, or in $PATH. The error lists the places.
Result<std::string> find_server();

}  // namespace leat::client

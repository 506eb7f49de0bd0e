// SPDX-License-Identifier: Apache-2.0
// Finds this node's server for a session, or starts it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client-api/launcher.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/region_arena.hpp"
#include "lib/shm/transport.hpp"

namespace leat::client {

struct Connection {
  std::unique_ptr<shm::ToServer> server;
  std::string segment;  ///< name of the shared memory
  int server_pid = -1;  ///< of the server when this process started it, else -1
};

/// The common regions that a client cuts blocks from: all others of its are full.
struct Held {
  shm::Region current, spare;
};
/// Asked with a connection in hand: what a server gave that has died meanwhile counts too.
using TellHeld = std::function<Held()>;

/// How a run's servers are started, the first and those that take over from a dead one.
struct ServerStart {
  std::string config;
  Ranks ranks;
  std::string folder;   ///< where the first one was started: paths in the XML count from there
  std::string segment;  ///< to take over; "" for the first server
  std::int64_t since_ns = 0;  ///< when this rank began to come; see platform::LateRanks
  bool was_split = false;     ///< ranks were servers, and are no more: the next one is a process
};

/// Every wait in it is bounded; all errors of a server that could not start are in the message.
Result<Connection> connect_or_start(const ServerStart& start);

/// Like connect_or_start, for a client that was attached to a server which has died. ERROR_TIMEOUT:
/// another try may find one; all other errors are for good.
Result<Connection> connect_or_take_over(const ServerStart& start, const TellHeld& tell_held,
                                        std::int64_t limit_ns);

/// Where the XML wants the server.
struct Plan {
  bool in_ranks = false;
  int cores = 1;
};
/// Asks leatd, which reads the XML: all of its errors are in the message.
Result<Plan> ask_plan(const std::string& config);

/// The command line of leatd but its first word and what a process that is started gets beside it.
std::vector<std::string> server_arguments(const ServerStart& start);

/// Path of leatd: $LEAT_SERVER, beside this library, or in $PATH. The error lists the places.
Result<std::string> find_server();

}  // namespace leat::client

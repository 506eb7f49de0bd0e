// SPDX-License-Identifier: Apache-2.0
// Finds this node's server for a session, or starts it, and leads to it: by a local socket, where it is a process of its
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client-api/connect/hosted_server.hpp"
#include "client-api/connect/ranks.hpp"
#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/shm/handshake.hpp"
#include "lib/shm/leases.hpp"

namespace leat::client {

/// The way to a server that is a process of its own: a local socket, and the doorbell that wakes it.
class SocketLink final : public shm::ToServer {
 public:
  explicit SocketLink(os::UniqueFd socket) : socket_(std::move(socket)) {}

  /// Says hello. `nothing`: there is no answer within that time.
  Received handshake(const shm::Hello& hello, shm::Welcome* welcome, std::int64_t limit_ns);

  void ring() noexcept override;
  bool is_gone() noexcept override;
  bool report(const shm::Report& report) noexcept override;
  bool introduce(const std::string& offers) noexcept override;
  Received await(shm::DrainReport* report, std::int64_t limit_ns) noexcept override;
  void close() noexcept override;

 private:
  os::UniqueFd socket_;
  os::UniqueFd doorbell_;  // an eventfd, with which the server welcomes
};

/// A server that this process has started.
struct OwnServer {
  int pid = -1;                            ///< of a process
  std::unique_ptr<HostedServer> hosted{};  ///< or on a thread of this one
};

struct Connection {
  std::unique_ptr<shm::ToServer> server;
  std::string segment;  ///< name of the shared memory
  OwnServer own{};
  int number = 0;  ///< of that server on the node
  int place = 0;   ///< of this rank among those of that server
  ServerOffer offer{};
};

/// The common regions that a client cuts blocks from: all others of its are full.
struct HeldRegions {
  shm::Region current, spare;
};
/// Asked with a connection in hand: what a server gave that has died meanwhile counts too.
using AskForHeld = std::function<HeldRegions()>;

/// How a run's servers are started, the first and those that take over from a dead one.
struct ServerStart {
  std::string config;
  Ranks ranks;
  std::string folder;   ///< where the first one was started: paths in the XML count from there
  std::string segment;  ///< to take over; "" for the first server
  std::int64_t since_ns = 0;  ///< when this rank began to come; see node::LateRanks
  bool was_split = false;     ///< ranks were servers, and are no more: the next one is a process
  int server = 0;             ///< of the node: the first one knows whose this rank is
  bool meets = false;         ///< by a communicator of the ranks; see meet_servers()
};

/// Every wait in it is bounded; all errors of a server that could not start are in the message.
Result<Connection> connect_or_start(const ServerStart& start);

/// Like connect_or_start, for a client that was attached to a server which has died. ERROR_TIMEOUT:
/// another try may find one; all other errors are for good.
Result<Connection> connect_or_take_over(const ServerStart& start, const AskForHeld& ask_for_held,
                                        std::int64_t limit_ns);

/// Has leatd read the XML, and returns what it says of it, in the form of leat_describe. All errors
/// of the XML are in the message.
Result<std::string> ask_description(const std::string& config);

/// The command line of leatd but its first word and what a process that is started gets beside it.
std::vector<std::string> server_arguments(const ServerStart& start);

/// Path of the program that is a staging node, where it is installed with this library.
std::string staging_program();

/// Path of leatd: $LEAT_SERVER, beside this library, or in $PATH. The error lists the places.
Result<std::string> find_server();

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// A connection to the control channel of a session on this node. No wait is longer than it may be.
#pragma once

#include <deque>
#include <string>

#include "lib/base/status.hpp"
#include "lib/control/protocol.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::cli {

using control::Json;

/// Names of the sessions on this node that have a control channel.
std::vector<std::string> names_of_sessions();

/// Of those, the runs whose XML has this <simulation name="...">: the session of each one's first
/// server.
std::vector<std::string> sessions_of_simulation(const std::string& simulation,
                                                const os::Deadline& deadline);

/// That they are several, and what to do.
std::string several_runs(const std::string& simulation, const std::vector<std::string>& sessions);

class ControlClient {
 public:
  /// ERROR_SERVER: no server listens; ERROR_TIMEOUT: one does, and has no room for more in time.
  static Result<ControlClient> connect(const std::string& session, const os::Deadline& deadline);

  /// The next reply comes from receive().
  bool send(const std::string& verb, const Json& arguments, const os::Deadline& deadline);
  /// The next message, a reply or an event. ERROR_TIMEOUT: none comes in time; ERROR_SERVER: the
  /// server has ended, or has closed the connection.
  Result<Json> receive(const os::Deadline& deadline);
  /// Sends a request and waits for its reply; events that come before it are for receive().
  Result<Json> ask(const std::string& verb, const Json& arguments, const os::Deadline& deadline);
  /// For poll(): what can be read there is for receive().
  int descriptor() const noexcept { return socket_.get(); }

 private:
  explicit ControlClient(os::UniqueFd socket) : socket_(std::move(socket)) {}
  Result<Json> next_line(const os::Deadline& deadline);

  os::UniqueFd socket_;
  std::string input_;
  std::deque<Json> events_;
};

}  // namespace leat::cli

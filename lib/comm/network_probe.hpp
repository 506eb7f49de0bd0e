// SPDX-License-Identifier: Apache-2.0
// Which servers reach which by which address: looked at before a run, with all that a run does to connect.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/comm/listening.hpp"
#include "lib/comm/meeting.hpp"
#include "lib/comm/tls.hpp"

namespace leat::comm {

/// One address of another server, as it was tried from here.
struct Probed {
  Rank peer = 0;
  std::string address{};
  std::string why_not{};  ///< "": reached, and it is that server of this run
};

// Connects to each address of each other server, some at a time, and answers those that connect here. A server is reached when
// both ends have proved by TLS that they have the credential, and it has said that it is the one that is meant.
class NetworkProbe {
 public:
  /// `limit_ns`: for one address.
  NetworkProbe(const Meeting& meeting, Credential credential, Listening listening,
               std::int64_t limit_ns);

  /// Once; returns when all have been tried.
  std::vector<Probed> try_all();
  /// Answers others, for so long, or until `is_enough`.
  void answer(std::int64_t ns, const std::function<bool()>& is_enough);

 private:
  struct Connection {
    os::UniqueFd socket{};
    TlsStream tls;
    Probed probed{};  // of ours
    bool is_ours = false, is_connected = false, is_over = false;
    std::int64_t since_ns = 0;
    std::string unsent{};
  };

  void begin(const Probed& next);
  void step(std::int64_t wait_ns);
  void accept_others(int listener);
  void advance(Connection* connection, short seen);
  void exchange_bytes(Connection* connection);
  void take_messages(Connection* connection);
  void end(Connection* connection, std::string why_not);
  std::string hello_to(Rank peer) const;

  Meeting meeting_;
  Credential credential_;
  Listening listening_;
  std::int64_t limit_ns_;
  std::vector<Connection> connections_;
  std::vector<Probed> done_;
};

/// The interface that has this address on this node; "".
std::string interface_of_address(const std::string& address);

}  // namespace leat::comm

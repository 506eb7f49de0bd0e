// SPDX-License-Identifier: Apache-2.0
// Joins a run as the host that modules of its graph are on: `leat graph join`.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lib/comm/meeting.hpp"
#include "server/hosts/joined_module.hpp"

namespace leat::hosts {

struct JoinOptions {
  std::string cards;         ///< a folder with the card
  std::string name;          ///< of it
  std::string at;            ///< "127.0.0.1:4711": the node is found there, not at its addresses
  double wait_seconds = 60;  ///< for a run that is not there, or has gone
};

// Each module of the run that is on this host comes by a connection of its own: whichever has no host answers the next one. So one
// connection waits there always, on a thread of its own, for modules that come later, or again.
class Join {
 public:
  explicit Join(JoinOptions options) : options_(std::move(options)) {}
  /// Until the run is over, or a signal comes. The exit code; threads may be at work still.
  int run();

 private:
  void connect_always();
  bool connect();
  bool try_at(const comm::Offer& card, const std::string& address, std::uint16_t port);
  void take_in(std::unique_ptr<comm::ByteStream> stream);
  enum class State { waits, works, over };
  State look();

  JoinOptions options_;
  std::string address_;  // where somebody has answered last
  std::mutex mutex_;     // of what follows
  std::map<std::string, std::unique_ptr<JoinedModule>> modules_;
  std::list<std::unique_ptr<comm::ByteStream>> parked_;  // of modules that want no turns here
  std::string why_, said_;                               // nobody answers
};

/// SIGINT and SIGTERM end the join.
void end_by_signals();

}  // namespace leat::hosts

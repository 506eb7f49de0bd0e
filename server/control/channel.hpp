// SPDX-License-Identifier: Apache-2.0
// A control channel: programs of the session's owner ask what a run does, order it to do something,
// and get its events. It knows nothing of sockets: who hosts it says what has come, takes from each
// connection what is to be sent, and calls work().
//
// Nothing that a program does here costs the run more than a bounded time in each call and a
// bounded memory. One thread calls all of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/control/connection.hpp"
#include "server/control/controlled_run.hpp"

namespace leat::control {

class Channel {
 public:
  static constexpr std::size_t kMostConnections = 32;
  /// Of one reply, and of all that is yet to be read by all.
  static constexpr std::size_t kMostReply = 4 << 20, kMostUnreadOfAll = 16 << 20;

  explicit Channel(ControlledRun& run) : run_(run) {}

  /// By any number that is its own as long as it is there. With too many the one that has been
  /// silent for the longest is parted with; those that have subscribed are not.
  Connection& open(int number, std::string who, std::int64_t now_ns);
  Connection* find(int number) noexcept;
  void close(int number) { connections_.erase(number); }
  std::map<int, Connection>& connections() noexcept { return connections_; }

  /// Answers one request of each connection at most, as many as there is time for. True: there was
  /// something to do.
  bool work(std::int64_t now_ns);
  /// When work() has something to do although nothing comes; INT64_MAX: never.
  std::int64_t next_deadline_ns() const noexcept;

  bool has_subscribers() const noexcept;
  void publish(const std::string& event, const Json& facts, std::int64_t now_ns);
  /// The run is over, and all are told; only what is to be sent is left to do.
  void end(const Json& facts, std::int64_t now_ns);

 private:
  bool make_room(std::int64_t now_ns);
  bool answer_some(std::int64_t now_ns);
  void answer(Connection& connection, const std::string& line, std::int64_t now_ns);
  std::string reply_or_refusal(Connection& connection, const Request& request);
  std::string reply_to(Connection& connection, const Request& request);
  std::string facts(const Request& request);
  std::string order(const Connection& connection, const Request& request);
  std::string subscribe(Connection& connection, const Request& request);
  std::string why_too_much(const std::string& reply) const;

  ControlledRun& run_;
  std::map<int, Connection> connections_;
  int next_number_ = 0;  // of the one whose turn it is
};

}  // namespace leat::control

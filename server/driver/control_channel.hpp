// SPDX-License-Identifier: Apache-2.0
// A control channel: programs of the session's owner ask what a run does, order it to do something, and get its events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/control/protocol.hpp"

namespace leat::control {

// One program at a control channel: what has come from it and is not taken yet, and what it has yet
// to read. Both are bounded. It knows nothing of sockets.
class Connection {
 public:
  /// Events that a reader may have yet to read, in bytes; with more it is told, and gets no more.
  static constexpr std::size_t kMostUnread = std::size_t{512} * 1024;
  /// No request of a reader is taken while it has as much to read.
  static constexpr std::size_t kEnoughUnread = std::size_t{64} * 1024;
  /// One that sends half a request, or reads nothing of what waits for it, is given up after these.
  static constexpr std::int64_t kHalfRequestNs = 10'000'000'000, kUnreadNs = 30'000'000'000;
  /// The last word waits so long for a reader.
  static constexpr std::int64_t kPartingNs = 5'000'000'000;

  /// `who`: for logs.
  Connection(std::string who, std::int64_t now_ns)
      : who_(std::move(who)), came_ns_(now_ns), read_ns_(now_ns) {}

  const std::string& who() const noexcept { return who_; }

  // What comes
  bool wants_input() const noexcept;
  void received(std::string_view bytes, std::int64_t now_ns);
  /// Nothing more comes; it may read on.
  void input_ended() noexcept { has_ended_ = true; }
  /// The next request, if it is there and its time has come.
  std::optional<std::string> take_request();
  bool has_request() const noexcept;

  // What goes
  void reply(const std::string& line, std::int64_t now_ns);
  /// An event for one that has subscribed. It may be too much for this reader.
  void offer(const std::string& line, std::int64_t now_ns);
  std::string_view unsent() const noexcept { return std::string_view(output_).substr(sent_); }
  void sent(std::size_t bytes, std::int64_t now_ns);

  /// All events when `events` is empty.
  void subscribe(std::vector<std::string> events);
  bool is_subscribed() const noexcept { return is_subscribed_; }
  bool wants(const std::string& event) const;

  // The end
  /// Says this, and takes and gives nothing more.
  void part_with(const std::string& last_line, std::int64_t now_ns);
  bool is_parting() const noexcept { return parting_ns_ != 0; }
  /// The other side has gone.
  void lost() noexcept { is_lost_ = true; }
  bool is_over(std::int64_t now_ns) const noexcept;
  /// It is late: "", or what to tell it.
  std::string why_late(std::int64_t now_ns) const;
  /// When it is late, or over; INT64_MAX: never.
  std::int64_t deadline_ns() const noexcept;
  /// When something last came from it.
  std::int64_t came_ns() const noexcept { return came_ns_; }

 private:
  bool awaits_more() const noexcept { return !input_.empty() && !has_request() && !has_ended_; }
  void drop_unsent_events();

  std::string who_;
  std::string input_, output_;
  std::size_t sent_ = 0;  // of output_
  char last_sent_ = '\n';
  std::vector<std::string> events_;
  bool is_subscribed_ = false, has_ended_ = false, is_lost_ = false;
  std::int64_t came_ns_, read_ns_, parting_ns_ = 0;
};

/// A text of JSON, or why the request is refused.
using Answer = Result<std::string>;
inline Error refusal(std::string why) { return {Status::ERROR_ARGUMENT, std::move(why)}; }

// The run that a control channel belongs to.
class ControlledRun {
 public:
  virtual ~ControlledRun() = default;
  /// To any request that is no stream. Quick: it waits for no client, store, script or disk.
  virtual Answer answer(const Request& request) = 0;
};

// A control channel: programs of the session's owner ask what a run does, order it to do something,
// and get its events. It knows nothing of sockets: who hosts it says what has come, takes from each
// connection what is to be sent, and calls work().
//
// Nothing that a program does here costs the run more than a bounded time in each call and a
// bounded memory. One thread calls all of it.
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
  std::string reply_to(Connection& connection, const Request& request);
  Answer subscribe(Connection& connection, const Request& request);
  std::string why_too_much(const std::string& reply) const;

  ControlledRun& run_;
  std::map<int, Connection> connections_;
  int next_number_ = 0;  // of the one whose turn it is
};

}  // namespace leat::control

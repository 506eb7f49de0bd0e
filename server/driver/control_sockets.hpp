// SPDX-License-Identifier: Apache-2.0
// The sockets of a control channel. Whatever comes at them, they cost the loop that tends them at
// most a tenth of its time: after each turn there is a rest of nine times as long, in which what
// comes waits with the system.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/os/descriptor.hpp"
#include "server/driver/control_channel.hpp"

namespace leat::server {

class ControlSockets {
 public:
  /// Without a listener nobody comes.
  ControlSockets(os::UniqueFd listener, control::Channel& channel);

  /// Readable when turn() has something to do.
  int descriptor() const noexcept { return gate_.get(); }
  /// Takes what has come, answers, and sends what can be sent: a little of each, without a wait.
  void turn(std::int64_t now_ns);
  /// There is more to be sent.
  void wake() noexcept;
  /// Sends what can be sent, for the last time.
  void flush(std::int64_t now_ns) { send_all(now_ns); }

 private:
  struct Socket {
    os::UniqueFd fd;
    std::uint32_t watched = 0;  // what epoll is to tell
    bool is_wide = false;       // it has room for the last word
  };

  bool serve(std::int64_t now_ns);
  bool accept(std::int64_t now_ns);
  void note_gone() noexcept;
  bool receive(int number, control::Connection& connection, std::int64_t now_ns);
  bool receive_all(std::int64_t now_ns);
  bool send(Socket& socket, control::Connection& connection, std::int64_t now_ns);
  bool send_all(std::int64_t now_ns);
  void watch(int number, const control::Connection& connection);
  void close_ended(std::int64_t now_ns);
  void rest(std::int64_t ns) noexcept;
  void await_more(std::int64_t now_ns) noexcept;
  void set_timer(std::int64_t ns) noexcept;

  os::UniqueFd listener_;
  control::Channel& channel_;
  os::UniqueFd gate_, ready_, timer_;  // ready: of what comes; closed by the gate in a rest
  std::map<int, Socket> sockets_;
  bool is_resting_ = false;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// A session that is watched over its control channel: asked again and again, found again where another server goes on. Nothing
// here waits: a server that is stopped costs a watcher nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/cli/control_client.hpp"
#include "server/cli/top/figures.hpp"

namespace leat::cli::top {

class Watch {
 public:
  enum class State {
    connecting,  ///< nothing has come yet
    answering,
    silent,   ///< connected, and it does not answer: it is stopped, or has no time
    waiting,  ///< its server has died, and another one takes over at the next call of a rank
    ended,    ///< nothing of it is there any more
  };

  /// Asked once in `interval_ns`.
  Watch(std::string session, std::int64_t interval_ns)
      : session_(std::move(session)), interval_ns_(interval_ns) {}

  /// Reads what has come, and asks when it is time. True: something is new.
  bool turn(std::int64_t now_ns);
  /// To be waited for until next_ns(); -1: none.
  int descriptor() const noexcept { return client_ ? client_->descriptor() : -1; }
  std::int64_t next_ns() const noexcept;

  void set_interval(std::int64_t ns) noexcept { interval_ns_ = ns; }
  const std::string& session() const noexcept { return session_; }
  State state() const noexcept { return state_; }
  const Answers& answers() const noexcept { return answers_; }
  const History& history() const noexcept { return history_; }
  /// Of the XML; null as long as it has not come.
  const Json& description() const noexcept { return description_; }
  /// Of a session that has ended, what its ledger says; "" where there is none.
  const std::string& outcome() const noexcept { return outcome_; }
  /// Since the state is what it is.
  double seconds_in_state(std::int64_t now_ns) const noexcept;
  /// How often another server has gone on while it was watched, and for how long it is there.
  int takeovers() const noexcept { return takeovers_; }
  double seconds_since_takeover(std::int64_t now_ns) const noexcept;
  /// All that is asked for has come once.
  bool is_complete() const noexcept { return turns_ > 0; }

 private:
  void connect(std::int64_t now_ns);
  void ask(std::int64_t now_ns);
  bool read(std::int64_t now_ns);
  void take(const Json& reply);
  void finish_turn(std::int64_t now_ns);
  void lost(std::int64_t now_ns);
  void enter(State state, std::int64_t now_ns);
  bool is_there() const;
  std::string outcome_in_ledger() const;

  std::string session_;
  std::int64_t interval_ns_;
  std::optional<ControlClient> client_;
  State state_ = State::connecting;
  std::int64_t state_since_ns_ = 0, asked_ns_ = 0, tried_ns_ = 0, run_asked_ns_ = 0,
               takeover_ns_ = 0;
  int pending_ = 0, turns_ = 0, takeovers_ = 0;
  Answers answers_, coming_;  // all of one moment; those of the next, as far as they have come
  Json description_;
  std::string outcome_;
  History history_;
};

}  // namespace leat::cli::top

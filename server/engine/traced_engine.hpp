// SPDX-License-Identifier: Apache-2.0
// What the engine itself says for the trace: its turns, what becomes of iterations, memory in use and what waits. Private to the
// engine's thread.
#pragma once

#include <cstdint>

#include "server/engine/dispatcher.hpp"
#include "server/engine/session_state.hpp"
#include "server/state/trace/trace.hpp"

namespace leat::server {

/// Does nothing where no trace is wanted.
class TracedEngine {
 public:
  TracedEngine(SessionState& session, Dispatcher& dispatcher);

  void start();
  void finish();
  /// A step is over. `busy`: something had come.
  void stepped(std::int64_t begun_ns, bool busy);

 private:
  void happened(const IterationEvent& event);
  void draw_turn();
  void draw_numbers(std::int64_t now_ns);

  SessionState& session_;
  Dispatcher& dispatcher_;
  Trace* const trace_;
  Trace::Track turns_ = 0, used_ = 0, waiting_ = 0;
  std::int64_t turn_begun_ns_ = 0, turn_ended_ns_ = 0;  // 0: none is under way
  std::int64_t last_used_ = -1, last_waiting_ = -1;
};

}  // namespace leat::server

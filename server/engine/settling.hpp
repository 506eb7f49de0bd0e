// SPDX-License-Identifier: Apache-2.0
// Tells ranks at the end of an iteration up to where what they wait for has it; and with mode="auto"
// whether they wait. Private to the engine's thread.
#pragma once

#include <cstdint>

#include "server/engine/dispatcher.hpp"

namespace leat::server {

class Settling {
 public:
  /// A server that takes over makes the choice anew: ranks wait until then.
  Settling(SessionState& session, Dispatcher& dispatcher);

  void step();

 private:
  bool waits_for_all() const noexcept;
  std::int64_t last_settled() const;
  void publish_settled();
  void choose();
  ModeChoice::Progress progress(std::int64_t finished) const;
  void log_mode();

  SessionState& session_;
  Dispatcher& dispatcher_;
  const bool is_automatic_;
  std::int64_t finished_ = -1;
  int logged_changes_ = -1;
};

}  // namespace leat::server

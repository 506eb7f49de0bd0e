// SPDX-License-Identifier: Apache-2.0
// Sessions of this user on this node of which everything was killed, and what they had in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/node/stale_resources.hpp"
#include "lib/shm/undrained.hpp"

namespace leat::command {

struct KilledSession {
  platform::UndrainedOne what;
  shm::Undrained held;
  /// "in memory", "stored" or "given up"
  std::string outcome = "in memory";
  std::uint64_t iterations = 0, blocks = 0, bytes = 0;  ///< that are, or were, in memory
  std::uint64_t lost = 0;                               ///< of the writes, while it was stored
  std::string problem{};                                ///< why it is in memory still

  std::string folder() const { return held.run ? held.run->folder : ""; }
};

/// The oldest first.
std::vector<KilledSession> killed_sessions();

}  // namespace leat::command

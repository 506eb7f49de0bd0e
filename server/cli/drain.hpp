// SPDX-License-Identifier: Apache-2.0
// What becomes of killed sessions: they are stored, or given up.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/node/stale_resources.hpp"
#include "lib/shm/undrained.hpp"

namespace leat::cli {

// Sessions of this user on this node of which everything was killed, and what they had in memory.
struct KilledSession {
  node::UndrainedOne what;
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

using Json = nlohmann::ordered_json;

/// Stores each with a leatd of its own, and waits for its end as long as it gets on: run by run, but
/// those of one run together, as they may have to agree on something. Those with a problem stay.
void drain(const std::vector<KilledSession*>& sessions);
/// Removes it, and with it what was not stored.
void give_up(KilledSession* session);

/// "session s of /home/me/run: 12 iterations, 96 blocks, 1.2 MiB are stored now"
/// Of its JSON.
std::string sentence(const Json& session);
Json json_of(const KilledSession& session);

}  // namespace leat::cli

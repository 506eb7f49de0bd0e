// SPDX-License-Identifier: Apache-2.0
// What becomes of killed sessions: they are stored, or given up.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/command/killed_sessions.hpp"

namespace leat::command {

using Json = nlohmann::ordered_json;

/// Stores each with a leatd of its own, and waits for its end as long as it gets on: run by run, but
/// those of one run together, as they may have to agree on something. Those with a problem stay.
void drain(const std::vector<KilledSession*>& sessions);
/// Removes it, and with it what was not stored.
void give_up(KilledSession* session);

/// "session s of /home/me/run: 12 iterations, 96 blocks, 1.2 MiB are stored now"
std::string sentence(const KilledSession& session);
Json json_of(const KilledSession& session);

}  // namespace leat::command

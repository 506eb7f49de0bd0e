// SPDX-License-Identifier: Apache-2.0
// What a process that looks at the segment sees of a rank.
#pragma once

#include "lib/shm/segment.hpp"

namespace leat::server {

/// It lives, and has not ended.
inline bool is_attached(const shm::ClientArea& rank) noexcept {
  const shm::ClientRecord& record = rank.server->records[rank.server->record.load() & 1];
  return record.phase == static_cast<std::uint32_t>(shm::ClientPhase::attached);
}

/// Sleeps in a call of Leat's.
inline bool waits_for_leat(const shm::ClientArea& rank) noexcept {
  return rank.client->waiting.load(std::memory_order_relaxed) == 1;
}

}  // namespace leat::server

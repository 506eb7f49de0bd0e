// SPDX-License-Identifier: Apache-2.0
// With which iteration each rank begins: 0, or another one where it goes on from a restart file of its own. Private to the
// engine's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "server/engine/session_state.hpp"

namespace leat::server {

/// Where all clients have begun, or are gone: no iteration comes before the first of all.
void close_before_first(SessionState& session);

class Beginning {
 public:
  explicit Beginning(SessionState& session) : session_(session) {}

  /// The first that comes of this client is of this iteration. Nothing when it has begun already.
  void of(std::uint32_t client, std::int64_t iteration);
  /// The client says so, before anything else of it. False: that cannot be.
  bool said(std::uint32_t client, std::int64_t iteration);
  /// The client goes there from a later iteration than its first: it has nothing in those between.
  void again(std::uint32_t client, std::int64_t iteration);
  /// Whether all ranks leave the same iterations out: says so where they do not. Costs nothing else.
  void look_at_gaps();

  // Recovery where a server has died
  void apply(const RankBegan& record);
  std::vector<JournalRecord> snapshot() const;
  /// The client has ended iterations: without a record it began with 0.
  void of_resumed(std::uint32_t client);
  /// Of which iteration a block is that has this number in memory: its rank may have begun elsewhere since.
  std::int64_t place_of(std::uint32_t client, std::int64_t iteration) const {
    return std::max(iteration, session_.iterations.first_of(client).value_or(iteration));
  }

 private:
  void begin(std::uint32_t client, std::int64_t iteration);
  void warn_of_others(std::uint32_t client, std::int64_t iteration);

  SessionState& session_;
  bool is_said_ = false;  // by any
  bool has_warned_ = false, has_warned_of_gaps_ = false;
};

}  // namespace leat::server

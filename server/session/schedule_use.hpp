// SPDX-License-Identifier: Apache-2.0
// What a plugin that works on the simulation's cores has found there, and made of it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <variant>

namespace leat::server {

/// Of idle phases of the ranks of a node.
struct IdleUse {
  double found_seconds = 0;  ///< of all ranks together
  std::uint64_t phases = 0, left_alone = 0, mispredicted = 0;
  double used_seconds = 0;  ///< by pieces, those while ranks waited for Leat or had ended too
  std::uint64_t pieces = 0;
  std::uint64_t outlasted = 0;  ///< pieces that were at work when their phase ended
  double late_seconds = 0;      ///< a core was back so long after its phase at most
};

/// Of collectives, at which it starts.
struct StartUse {
  std::uint64_t first = 0;     ///< starts at the first collective that was meant
  std::uint64_t later = 0;     ///< at a later one: it was not ready at the first
  std::uint64_t deferred = 0;  ///< at none, as none came in time
  std::uint64_t at_once = 0;   ///< at none: ranks counted none, waited for Leat or had ended
  double lag_seconds = 0;      ///< from the collective to the start, mean
  double longest_lag_seconds = 0;
  double waited_seconds = 0;  ///< for all starts
  double used_seconds = 0;    ///< at work
};

using ScheduleUse = std::variant<IdleUse, StartUse>;

/// "idle" or "starts".
const char* name_of(const ScheduleUse& use);
nlohmann::json json_of(const ScheduleUse& use);

class ScheduleUser {
 public:
  virtual ~ScheduleUser() = default;
  /// So far; from any thread.
  virtual ScheduleUse use() const noexcept = 0;
};

}  // namespace leat::server

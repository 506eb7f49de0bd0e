// SPDX-License-Identifier: Apache-2.0
// That a run is drained by order, and by whose: the server writes it once, before it takes the last
// events of its clients. It outlives the server, so that all know why nothing more is taken.
#pragma once

#include <string>
#include <string_view>

#include "lib/shm/layout.hpp"

namespace leat::shm {

inline void order_to_drain(ServerState& state, std::string_view who) noexcept {
  if (state.is_drained.load(std::memory_order_relaxed) != 0) return;
  state.drained_by[who.copy(state.drained_by, sizeof state.drained_by - 1)] = 0;
  // Release: who sees the word, sees the name.
  state.is_drained.store(1, std::memory_order_release);
}

inline bool is_drained(const ServerState& state) noexcept {
  return state.is_drained.load(std::memory_order_acquire) != 0;
}

/// "the run was drained by order of control/4711; what came after is not stored"
inline std::string drain_in_words(const ServerState& state) {
  return "the run was drained by order of " + std::string(state.drained_by) +
         "; what came after is not stored";
}

}  // namespace leat::shm

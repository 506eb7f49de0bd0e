// SPDX-License-Identifier: Apache-2.0
// Iterations that wait for the stores, as the spiller sees them.
#pragma once

#include <functional>
#include <optional>

#include "server/session/iteration.hpp"

namespace leat::server {

/// From any thread. `which` is called with the line locked, and must be quick.
class WaitingLine {
 public:
  using Which = std::function<bool(const Iteration&)>;
  virtual ~WaitingLine() = default;

  /// A copy of the newest one that no store has begun; it stays in line.
  virtual std::optional<Iteration> newest(const Which& which) const = 0;
  /// Puts this one into the place of the one with its number. False when that waits no longer.
  virtual bool replace(Iteration iteration) = 0;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// One run of some clients that time their calls, with a server that keeps nothing.
#pragma once

#include <array>
#include <optional>

#include "tests/bench/measured_client.hpp"

namespace leat::bench {

struct PathTimes {
  std::array<Percentiles, kKinds> of;
  double sleeps_per_iteration = 0;  ///< of each client

  const Percentiles& at(Kind kind) const { return of[static_cast<std::size_t>(kind)]; }
  /// leat_write over a memcpy whose target is hot.
  double ratio() const { return at(Kind::write).p50 / at(Kind::memcpy_hot).p50; }
};

/// Nothing when a call failed: the figures would be worth nothing. reads: the server reads all
/// data.
std::optional<PathTimes> measure_path(Load load, const char* checksum = "none", bool reads = false);

}  // namespace leat::bench

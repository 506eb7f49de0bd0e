// SPDX-License-Identifier: Apache-2.0
// What a script reduces over the servers of the run: as its worker says it, and as it is told of the outcome.
// python-plugins/leat/scripting/reductions.py is the other side.
#pragma once

#include <cstdint>
#include <string>

#include "server/state/group/reductions.hpp"
#include "server/workers/frames.hpp"

namespace leat::server {

/// What one server may give in one call: numbers, and bytes of "gather".
inline constexpr std::uint64_t kMostReducedNumbers = 1 << 20, kMostGatheredBytes = 1 << 20;

/// What "reduce" gives: "columns" of {"kind": "sums", "integers", "reals" or "gather", "op", "count", "terms"},
/// whose numbers of 8 bytes each, or bytes, are the data, one column after the other. An element of "sums" is the exact sum of
/// `terms` doubles. Before them come columns of our own, with how many servers gave something, and
/// "signature", by which one sees that they gave the same kind of thing. Throws std::invalid_argument
/// with what is wrong.
comm::Columns columns_in(const Frame& message, comm::Rank self);

/// The answer: {"kind": "reduced", "why", "gave": servers, "columns"}, and the numbers, one for each element.
/// "gather" has "ranks" and "sizes", and bytes. `own`: what this server gave.
Frame reduced(const comm::Outcome& outcome, const comm::Columns& own);
/// The answer where there is none. `late`: there may be one yet, and the script's time is up.
Frame not_reduced(const std::string& why, bool late = false);

}  // namespace leat::server

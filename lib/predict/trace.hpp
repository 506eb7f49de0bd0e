// SPDX-License-Identifier: Apache-2.0
// Traces: what happened when, and for how long, of one rank or node. Text, a line for each event:
//
//     # until 20000000000
//     1000000000 41000000
//     3000000000 39500000
//
// its start and its duration in ns. Lines that begin with # are comments; "# until" says when the
// recording ended.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::predict {

struct Event {
  std::int64_t begin = 0, duration = 0;  ///< ns
  std::int64_t end() const { return begin + duration; }
};

struct Trace {
  std::string name;           ///< of its file
  std::vector<Event> events;  ///< at least one, in order, none begins before the one before it ends
  std::int64_t until = 0;     ///< when the recording ended: not before the last event does

  /// After which it may be repeated.
  std::int64_t span() const { return until - events.front().begin; }
};

/// Fails with file and line for what is no trace: lines out of order, overlaps, gaps (empty lines,
/// numbers that are missing), a file that was cut off.
Result<Trace> read_trace(std::istream& in, const std::string& name);
Result<std::vector<Trace>> read_traces(const std::vector<std::string>& files);

}  // namespace leat::predict

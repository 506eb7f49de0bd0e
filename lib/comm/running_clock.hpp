// SPDX-License-Identifier: Apache-2.0
// The time in which a thread could run.
#pragma once

#include <algorithm>
#include <cstdint>

namespace leat::comm {

// A process that is stopped, with its whole job perhaps, has heard nothing meanwhile: what others have said waits in its sockets. By
// this clock no time has passed for it, so it takes nobody for silent before it has read that.
class RunningClock {
 public:
  explicit RunningClock(std::int64_t now_ns) : due_ns_(now_ns) {}

  /// What it shows at this moment.
  std::int64_t at(std::int64_t now_ns) {
    if (now_ns > due_ns_ + kMostLateNs) stopped_ns_ += now_ns - due_ns_;
    due_ns_ = now_ns;
    return now_ns - stopped_ns_;
  }
  /// The thread sleeps, and by then is asked what it shows.
  void sleeps_until(std::int64_t due_ns) { due_ns_ = std::max(due_ns_, due_ns); }
  /// When it shows this, by the clock of everybody; if its thread runs until then.
  std::int64_t moment_of(std::int64_t shown_ns) const {
    return shown_ns > INT64_MAX - stopped_ns_ ? INT64_MAX : shown_ns + stopped_ns_;
  }

 private:
  // A busy machine lets threads wait for so long.
  static constexpr std::int64_t kMostLateNs = 100'000'000;

  std::int64_t due_ns_, stopped_ns_ = 0;
};

}  // namespace leat::comm

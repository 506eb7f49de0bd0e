// SPDX-License-Identifier: Apache-2.0
// How long iterations took, and what plugins made of the simulation's cores.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <variant>
#include <vector>

namespace leat::server {

// How long iterations took, as the ranks say. Private to the engine's thread.
class IterationTimes {
 public:
  /// Of one rank, or of all: means over iterations, in seconds, from one end to the next.
  struct Figures {
    std::uint64_t intervals = 0;  ///< between ends that were seen; of the rank with the most
    double seconds = 0;           ///< mean
    double deviation = 0;         ///< standard deviation from one iteration to the other
    double longest = 0;
    double inside = 0;  ///< of `seconds`: in Leat's calls, but for copies of less than 32 KiB
    std::int64_t first_ns = 0;  ///< the first end, monotonic
  };

  explicit IterationTimes(std::size_t clients) : clients_(clients) {}

  /// `iterations`: that the rank has ended by this, one but where it has skipped some.
  void ended(std::uint32_t client, std::int64_t at_ns, std::uint64_t inside_ns,
             std::int64_t iterations);
  /// Mean over the ranks of what they have computed so far, outside of Leat's calls, in seconds.
  double computing() const;
  /// The mean over the ranks; `longest` and `first_ns` are the extremes.
  Figures figures() const;

 private:
  struct Client {
    std::int64_t first_ns = 0, last_ns = 0;
    std::uint64_t inside_ns = 0;  // since the first end
    std::uint64_t intervals = 0;
    double mean = 0, squares = 0, longest = 0;  // by Welford's method
  };
  std::vector<Client> clients_;
};

// What a plugin that works on the simulation's cores has found there, and made of it.

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

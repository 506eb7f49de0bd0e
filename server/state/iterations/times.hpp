// SPDX-License-Identifier: Apache-2.0
// How long iterations took, and what plugins made of the simulation's cores.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <variant>
#include <vector>

#include "lib/model/model.hpp"

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

// mode="auto": whether ranks wait for their output or compute beside it, by what iterations of this run have taken in
// either way. It knows of no clock. Private to the engine's thread.  Iterations are looked at in windows. To decide, one
// window is waited for; where that shows that neither way can gain, that is all, else one with overlap follows, and both
// once more where they are close. After that it watches, and decides anew when an iteration has come to take another
// time; the more often, the longer it waits before it does so again.

/// After so many iterations the output of stores repeats itself, as `every` says.
std::int64_t output_period(const model::Model& model);

class ModeChoice {
 public:
  /// What has been, since the server's start.
  struct Progress {
    std::int64_t finished = -1;  ///< all iterations up to here are done
    std::int64_t entered = 0;    ///< the last that a rank is in
    std::int64_t now_ns = 0;
    double computing = 0;  ///< seconds outside of Leat: mean over the ranks
    double output = 0;     ///< seconds that stores and scripts have worked
  };
  /// Of an iteration, in seconds.
  struct Figures {
    double whole = 0;  ///< from one that is done to the next
    double computing = 0, output = 0;
  };
  struct Decision {
    bool overlaps = false;
    std::int64_t since = 0;                         ///< the iteration
    std::optional<Figures> waiting, overlapping{};  ///< nothing: not tried
    int changes = 0;                                ///< how often it was the other way before
  };

  /// `period`: see output_period.
  explicit ModeChoice(std::int64_t period);

  /// Looks at what there is. True: overlaps() or decision() is another one now.
  bool advance(const Progress& now);
  bool overlaps() const noexcept { return overlaps_; }
  /// Nothing: it is not known yet.
  const std::optional<Decision>& decision() const noexcept { return decision_; }

 private:
  bool is_whole(const Progress& now) const noexcept;
  bool weigh(const Figures& seen, const Progress& now);
  bool watch(const Figures& seen, const Progress& now);
  bool has_changed(const Figures& seen) const noexcept;
  bool is_clear() const noexcept;
  bool overlap_pays() const noexcept;
  bool decide(bool overlaps, const Progress& now);
  bool turn(bool overlaps, const Progress& now);

  std::int64_t period_;
  bool overlaps_ = false, is_trying_ = true;
  std::optional<std::int64_t> from_;            // what is done up to here was begun in another way
  std::optional<Progress> window_;              // at its begin
  std::array<std::optional<Figures>, 2> best_;  // of the trial: waiting, with overlap
  int pairs_ = 0;                               // tried
  std::optional<Decision> decision_;
  std::optional<Figures> usual_;  // since it was decided
  int strikes_ = 0, windows_ = 0, rest_;
};

}  // namespace leat::server

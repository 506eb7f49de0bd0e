// SPDX-License-Identifier: Apache-2.0
// mode="auto": whether ranks wait for their output or compute beside it, by what iterations of this run have taken in
// either way. It knows of no clock. Private to the engine's thread.  Iterations are looked at in windows. To decide, one
// window is waited for; where that shows that neither way can gain, that is all, else one with overlap follows, and both
// once more where they are close. After that it watches, and decides anew when an iteration has come to take another
// time; the more often, the longer it waits before it does so again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "lib/model/model.hpp"

namespace leat::server {

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

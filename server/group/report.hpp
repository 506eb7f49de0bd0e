// SPDX-License-Identifier: Apache-2.0
// What a server tells the others of its run of the signals of its ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat::server {

/// Of one event, all that was signalled up to the end of an iteration.
struct Tally {
  /// How often all ranks have signalled it that can; -1: none can, all have died.
  std::int64_t least = 0;
  std::int64_t most = 0;     ///< one of them
  std::int64_t ordered = 0;  ///< from outside

  bool operator==(const Tally& other) const = default;
};

/// From this iteration on.
struct Step {
  std::int64_t iteration = 0;
  std::vector<Tally> tallies{};  ///< by event
};

struct Report {
  std::string name{};                ///< for people
  std::int32_t ranks = 0;            ///< it has so many
  std::vector<std::string> knows{};  ///< servers that it has heard of
  std::uint64_t beat = 0;            ///< grows as long as it lives
  std::int64_t first = 0;            ///< what was before is forgotten
  std::int64_t until = -1;           ///< its ranks have ended all iterations up to this one
  std::int64_t decided = -1;         ///< it knows what happens up to this one
  bool ended = false;                ///< none of its ranks signals any more
  bool gave_up = false;              ///< it decides nothing any more
  std::vector<Step> steps{};         ///< in order; nothing was signalled before the first

  /// As of the end of this iteration; null: nothing was signalled.
  const std::vector<Tally>* at(std::int64_t iteration) const noexcept;
  /// What it says of this iteration holds.
  bool covers(std::int64_t iteration) const noexcept { return ended || until >= iteration; }
  /// Needs nothing of the others any more.
  bool is_done() const noexcept { return gave_up || (ended && decided >= until); }
};

std::string line_of(const Report& report);
/// Nothing of what makes no sense.
std::optional<Report> report_in(const std::string& line, std::size_t events);

}  // namespace leat::server

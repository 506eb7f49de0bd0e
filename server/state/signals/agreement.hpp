// SPDX-License-Identifier: Apache-2.0
// In which iteration events of the whole run happen, by the reports that each server publishes of its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/state/journal/records.hpp"
#include "server/state/signals/group.hpp"

namespace leat::server {

// What a server reports to the others of its run.

/// Of one event, all that was signalled up to the end of an iteration.
struct Tally {
  /// How often all ranks have signalled it that can; -1: none can, all have died.
  std::int64_t least = 0;
  std::int64_t most = 0;       ///< one of them
  std::int64_t requested = 0;  ///< from outside

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
  std::vector<std::string> knows{};  ///< servers whose lines it has read
  std::uint64_t beat = 0;            ///< grows as long as it lives
  std::int64_t first = 0;            ///< what was before is forgotten
  std::int64_t until = -1;           ///< its ranks have ended all iterations up to this one
  std::int64_t decided = -1;         ///< it knows what happens up to this one
  bool ended = false;                ///< none of its ranks signals any more
  bool gave_up = false;              ///< it decides nothing any more
  std::vector<Step> steps{};         ///< in order; nothing was signalled before the first

  /// As of the end of this iteration; null: nothing was signalled.
  const std::vector<Tally>* at(std::int64_t iteration) const noexcept;
  /// What it reports of this iteration is final.
  bool covers(std::int64_t iteration) const noexcept { return ended || until >= iteration; }
  /// Needs nothing of the others any more.
  bool is_done() const noexcept { return gave_up || (ended && decided >= until); }
};

std::string line_of(const Report& report);
/// Nothing for a line that makes no sense.
std::optional<Report> report_in(const std::string& line, std::size_t events);

// In which iteration events of the whole run happen: each server decides it for itself, and all decide the same, by
// nothing but the reports of all of their ranks up to the end of that iteration. What a server reports after it was
// silenced does not count.
class Agreement {
 public:
  struct Other {
    std::string server, name;
    std::uint64_t beat = 0;   ///< another one as long as it lives
    std::int64_t until = -1;  ///< its report up to here counts
  };

  /// `ranks`: of the run.
  Agreement(std::string self, std::int32_t ranks, std::size_t events);
  /// As a server was that has died: the next to be decided is this one.
  void resume(std::int64_t next, std::vector<RunEventCount> happened);

  /// Takes the newest lines of all. True: there is something new of somebody.
  bool update(const std::vector<ServerLine>& all);
  /// All others that publish here: when they see that this one has read their lines, they count it in.
  std::vector<std::string> others() const;
  /// Servers of all ranks are known, and know this one.
  bool is_complete() const noexcept { return !members_.empty(); }
  /// Of those so many ranks.
  std::int64_t ranks_found() const;
  /// Those that publish here have all ranks of the run between them: none is of another run, and of
  /// those that do not know this one nothing is missing but an answer.
  bool all_have_published() const;
  /// Those whose part in it is over, since the last call: they were silenced.
  std::vector<Other> take_silenced();

  /// The next iteration, when it is known what happens in it: how often each event does.
  std::optional<std::vector<std::int64_t>> decide();
  std::int64_t next() const noexcept { return next_; }
  const std::vector<RunEventCount>& happened() const noexcept { return happened_; }
  /// Who has yet to report the next iteration; as long as not all are known, who has yet to answer
  /// this one, when all have published.
  std::vector<Other> awaited() const;
  /// The others have forgotten what the next one needs: this server was away for too long.
  bool is_left_behind() const;
  /// All others, too, know what happens up to here.
  std::int64_t decided_by_all() const;
  /// No server that has ever published needs anything more of the others.
  bool all_are_done() const;
  /// The most that a rank has signalled it more often than it has happened; and why, when it is not 0.
  std::int64_t missing(std::size_t event, std::string* why) const;

 private:
  struct Member {
    Report newest;
    Report counts;  // another one when it was silenced
    bool is_silenced = false, is_reported = false;
    bool is_there = false;  // else it was among the last, who clear all

    bool is_done() const noexcept { return !is_there || newest.is_done(); }
    bool is_awaited(std::int64_t iteration) const noexcept {
      return !counts.covers(iteration) && !is_silenced && !counts.gave_up;
    }
  };

  bool take(const ServerLine& line);
  bool know_each_other(const std::string& server, const Member& member) const;
  std::vector<std::string> known() const;
  Tally sum(std::size_t event) const;

  std::string self_;
  std::int32_t ranks_;
  std::size_t events_;
  std::map<std::string, Member> seen_;      // by server
  std::map<std::string, ServerLine> last_;  // as it was published
  std::map<std::string, Member*> members_;  // of this run; empty: not all are known
  std::int64_t next_ = 0;
  std::vector<RunEventCount> happened_;
};

}  // namespace leat::server

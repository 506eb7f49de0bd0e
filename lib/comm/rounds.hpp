// SPDX-License-Identifier: Apache-2.0
// The contributions of one server and of those below it, to rounds that have no outcome yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/comm/message.hpp"

namespace leat::comm {

// Each server makes one partial of a round, of its own contribution and of what its children in the
// tree have sent until then; what comes later, or from elsewhere, is passed on as it is. So sets of
// ranks in partials are either disjoint or one is within the other, however often they are sent
// and over whichever servers: a root takes the largest ones. Who goes on for a server that was killed
// makes none of rounds to which that one had contributed, since it may have made other ones.
class Rounds {
 public:
  Rounds(Rank self, std::int64_t most) : self_(self), most_(most) {}

  /// False: this round is over, this server has contributed to it, or too many are open.
  bool contribute(const Round& round, Columns columns);
  /// What the server that was here before had contributed.
  void resume(const Round& round, Columns columns);
  /// From another server. Partials of rounds that are over are dropped.
  void add(Partial partial, bool is_of_child);
  /// What a server in the tree has to send on, now that it waits for those children alone.
  std::vector<Partial> take_ready(const RankSet& children);
  /// All that was ever sent on and has no outcome, for a new parent.
  std::vector<Partial> sent() const;
  /// At a root: rounds to which all of `wanted` have contributed, in the order of their numbers, as
  /// outcomes without a sequence.
  std::vector<Outcome> take_complete(const RankSet& wanted);
  /// Who is waited for in the first open round of a channel.
  RankSet awaited(std::uint64_t channel, const RankSet& wanted) const;
  /// It has its outcome.
  void end(const Round& round);
  /// This server's own contributions without an outcome, in order: there is nobody else any more.
  std::vector<Outcome> take_own();
  std::size_t open() const { return open_.size(); }

 private:
  struct Open {
    std::optional<Columns> own{};
    std::vector<Partial> held{};   // to be made one with the own contribution; at a root all are
    std::vector<Partial> ready{};  // to be sent on
    std::vector<Partial> sent{};
    bool is_merged = false;
  };

  bool is_over(const Round& round) const;
  void merge(const Round& round, Open* open);
  static std::vector<const Partial*> all_of(const Open& open);
  Outcome outcome_of(const Round& round, const Open& open) const;

  Rank self_;
  std::int64_t most_;
  std::map<Round, Open> open_;
  std::map<std::uint64_t, std::int64_t> last_;  // that is over, by channel
};

}  // namespace leat::comm

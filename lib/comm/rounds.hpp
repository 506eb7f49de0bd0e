// SPDX-License-Identifier: Apache-2.0
// The contributions of one server and of those below it, to rounds that have no outcome yet.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/message.hpp"

namespace leat::comm {

/// Why a contribution is not taken that comes too late.
inline constexpr const char* kRoundIsOver = "the round is over";

// Each server makes one partial of a round, of its own contribution and of what its children in the
// tree have sent until then; what comes later, or from elsewhere, is passed on as it is. So sets of
// ranks in partials are either disjoint or one is within the other, however often they are sent
// and over whichever servers: a root takes the largest ones. Who goes on for a server that was killed
// makes none of rounds to which that one had contributed, since it may have made other ones.
//
// Who has contributed to a round has reached it and all lower numbers of its channel, and contributes
// nothing to those where it has not. A server passes a round on when it and all its children
// have reached it, and the lower ones before; so of whomever one hears that it has reached
// a round, one has what it contributed to lower ones; but not to those that are over where it
// came by, and are not here, since a root that is none any more has made their outcomes.
// A round is complete when all have reached it.
class Rounds {
 public:
  /// What gathers more than `most_bytes` leaves out the last of those that it would be of: a link takes no more.
  Rounds(Rank self, std::int64_t most, std::size_t most_bytes = std::size_t{48} << 20)
      : self_(self), most_(most), most_bytes_(most_bytes) {}

  /// "", or why it is not taken.
  std::string contribute(const Round& round, Columns columns);
  /// What the server that was here before had contributed.
  void resume(const Round& round, Columns columns);
  bool is_over(const Round& round) const;
  /// It is not open, and no more rounds may be.
  bool is_full_for(const Round& round) const {
    return static_cast<std::int64_t>(open_.size()) >= most_ && !open_.contains(round) &&
           !is_over(round);
  }
  /// This server has contributed to it or to a later one of its channel.
  bool has_reached(const Round& round) const;
  /// From another server. Partials of rounds that are over, or that it is full for, are dropped.
  void add(Partial partial, bool is_of_child);
  /// What a server in the tree has to send on, now that it waits for those children alone.
  std::vector<Partial> take_ready(const RankSet& children);
  /// All that was ever sent on and has no outcome, for a new parent.
  std::vector<Partial> sent() const;
  /// At a root: rounds that all of `wanted` have reached, in the order of their numbers, as
  /// outcomes without a sequence.
  std::vector<Outcome> take_complete(const RankSet& wanted);
  /// Who is waited for in the first open round of a channel.
  RankSet awaited(std::uint64_t channel, const RankSet& wanted) const;
  /// Some rounds that were open at the last call too, and who of `wanted` has not reached them; each
  /// call goes on after the channel at which the last one ended.
  std::vector<Awaited> waiting(const RankSet& wanted);
  /// It has its outcome, of this sequence.
  void end(const Round& round, std::int64_t sequence);
  /// All have all outcomes up to this one: nobody speaks of channels that ended in them.
  void forget(std::int64_t sequence);
  /// This server's own contributions without an outcome, in order: there is nobody else any more.
  std::vector<Outcome> take_own();
  std::size_t open() const { return open_.size(); }
  std::size_t channels() const { return last_.size(); }

 private:
  struct Open {
    std::optional<Partial> own{};
    std::vector<Partial> held{};    // to be made one with the own contribution
    std::vector<Partial> beside{};  // to be sent on as they are
    std::vector<Partial> sent{};
    RankSet covered{};  // by all of these
    RankSet passed{};   // contribute nothing
    RankSet reached{};  // and with it earlier ones
    std::map<std::int64_t, RankSet>
        delayed{};    // the same, as soon as the round of this number is over here
    RankSet later{};  // have reached a later round, and with it this one
    RankSet told{};   // of those that contribute nothing, whom the parent knows
    bool is_merged = false;
    bool is_new = true;     // something to be sent on may have come
    bool overlaps = false;  // some of these are of the same ranks
    bool was_waiting = false;
    RankSet ranks() const { return later + covered + passed; }
    bool has(const RankSet& part) const { return RankSet::have({&covered, &later, &passed}, part); }
  };
  using Place = std::map<Round, Open>::iterator;

  std::int64_t last(std::uint64_t channel) const;
  Open& open(const Round& round);
  void add_to_earlier(Place at, const RankSet& ranks);
  RankSet later_than(Place at) const;
  void find_later(std::uint64_t channel);
  Place first_of(std::uint64_t channel) { return open_.lower_bound({channel, INT64_MIN}); }
  Place end_of(std::uint64_t channel) { return open_.upper_bound({channel, INT64_MAX}); }
  void merge(const Round& round, Open* open) const;
  static std::int64_t over_of(const Open& open, const RankSet& ranks);
  void send_on(const Round& round, Open* open, std::vector<Partial>* all) const;
  void send(const std::vector<Partial>& some, std::vector<Partial>* all) const;
  static std::vector<const Partial*> all_of(const Open& open);
  static RankSet arrived(const Open& open);
  static bool have_arrived(const Open& open, const RankSet& wanted);
  std::vector<std::uint64_t> open_channels() const;
  std::set<std::uint64_t> take_changed(const RankSet& wanted);

  Rank self_;
  std::int64_t most_;
  std::size_t most_bytes_;
  std::map<Round, Open> open_;
  // By channel.
  std::map<std::uint64_t, std::int64_t> last_;                // that is over
  std::map<std::uint64_t, std::int64_t> own_;                 // that this server has reached
  std::map<std::uint64_t, std::int64_t> before_;              // that the server before this one had
  std::deque<std::pair<std::int64_t, std::uint64_t>> ended_;  // sequence of the outcome, channel
  std::uint64_t next_waiting_ = 0;
  std::set<std::uint64_t>
      delayed_;  // channels in which a round that is not over here is over elsewhere
  std::set<std::uint64_t> changed_;  // channels in which something may be ready or complete
  std::optional<RankSet> wanted_;    // where nothing has changed, nothing is, of these
};

}  // namespace leat::comm

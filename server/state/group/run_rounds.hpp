// SPDX-License-Identifier: Apache-2.0
// Operations of all servers of the run together, as an engine has them. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/group.hpp"
#include "lib/comm/member.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/run.hpp"

namespace leat::server {

/// Of which operations a round is one; see comm::Round.
namespace channel {
inline constexpr std::uint64_t iterations = 0;  ///< by their numbers
inline constexpr std::uint64_t ends = 1;        ///< of servers: one round
inline constexpr std::uint64_t status = 2;      ///< one after the other, as they are asked for
/// And those after it: what each server wants to write, by its rank.
inline constexpr std::uint64_t turns = std::uint64_t{1} << 16;
/// And those after it: of plugins and scripts.
inline constexpr std::uint64_t reductions = std::uint64_t{1} << 32;
}  // namespace channel

// An engine contributes to a round and goes on; the outcome comes in a later step, the same on all servers of the run, be it
// of those alone that are there. Contributions and outcomes are in the journal before anybody else has, or misses, them: a
// successor of a killed server has both, and whoever contributes anew to a round of its predecessor gets that one's outcome.
class RunRounds {
 public:
  /// `outcome.of`: the servers that it is of.
  using Done = std::function<void(const comm::Outcome& outcome)>;

  RunRounds(const Run& run, SessionJournal& journal) : run_(run), journal_(journal) {}

  /// Who follows all rounds of a channel, also in what is applied again by a successor.
  struct Listener {
    std::function<void(const comm::Round& round)> contributed{};
    std::function<void(const comm::Outcome& outcome)> outcome{};
    /// Others wait for this server, which has not contributed to it, for a while.
    std::function<void(const comm::Round& round)> awaited{};
  };
  void listen(std::uint64_t channel, Listener listener) {
    listeners_[channel] = std::move(listener);
  }
  /// The other servers of the run are known, or why they cannot be. `names`: of the servers, for people.
  void begin(std::unique_ptr<comm::Group> group, std::vector<std::string> names = {});
  bool has_begun() const noexcept { return group_ != nullptr; }
  /// When it has begun.
  comm::Rank self() const { return group_ ? group_->self() : 0; }
  comm::Rank size() const { return group_ ? group_->size() : 1; }

  /// When it has begun. `done` is called in advance(), unless the server is killed before. Numbers grow in a channel; to
  /// those that are left out this server contributes nothing.
  void contribute(const comm::Round& round, comm::Columns columns, Done done = {});
  /// This server contributes nothing more in this channel.
  void end(std::uint64_t channel) { contribute({channel, INT64_MAX}, {}); }
  /// Outcomes that have come. True: there were some.
  bool advance();
  /// Rounds that others wait for, and this server has not contributed to; of channels nobody listens to.
  std::vector<comm::Round> take_awaited() { return std::exchange(awaited_, {}); }
  /// Nobody asks again for reductions of iterations up to this one.
  void forget(std::int64_t iteration);
  /// This server has contributed to a round of this channel that has no outcome.
  bool is_open(std::uint64_t channel) const;
  /// By channel, the last round that has an outcome.
  const std::map<std::uint64_t, std::int64_t>& over() const noexcept { return over_; }
  /// advance() has something to do.
  bool has_news() const noexcept { return group_ && (!again_.empty() || group_->has_news()); }
  /// Servers that are silent for so long that they are not waited for.
  const comm::RankSet& dead() const noexcept { return view_.dead; }
  const comm::RankSet& left() const noexcept { return view_.left; }
  /// Nothing more is needed of the others.
  void leave() {
    if (group_) group_->leave();
  }
  bool has_left() const { return !group_ || group_->status().has_left || is_alone(); }
  /// It goes on without other servers that the run has; "".
  const std::string& why_alone() const noexcept { return why_alone_; }
  bool is_alone() const noexcept { return !why_alone_.empty(); }
  /// Of a server that is alone, the first iteration of which others may have another outcome: not all of them had this one for
  /// good. INT64_MAX: of none.
  std::int64_t unsure_from() const noexcept { return unsure_from_; }
  std::string name_of(comm::Rank server) const;
  /// "server node7, server node9", or who it may be.
  std::string awaited() const;

  // Recovery where a server has died
  void apply(const RunView& record);
  void apply(const RoundContributed& record);
  void apply(const RoundOutcome& record);
  void apply(const RunRoundsSnapshot& record);
  RunRoundsSnapshot snapshot() const;
  /// This server goes on for one that has died.
  void take_over() noexcept { ++restarts_; }
  /// What a group has to know of that one; nothing where there was none.
  std::optional<comm::Resume> resume() const;

 private:
  const Listener* listener_of(const comm::Round& round) const;
  RoundContributed record_of(const comm::Round& round, const comm::Columns& columns) const;
  void take(const comm::Outcome& outcome);
  // Live and in recovery
  void note(const comm::Round& round, comm::Columns columns);
  void note(const comm::Outcome& outcome);
  void store(const comm::Outcome& outcome);
  void forget_confirmed(std::int64_t sequence);
  void store(const comm::Group::Status& status);

  const Run& run_;
  SessionJournal& journal_;
  std::unique_ptr<comm::Group> group_;
  std::vector<std::string> names_;
  std::map<std::uint64_t, Listener> listeners_;
  using Contributions = std::vector<std::pair<comm::Round, comm::Columns>>;
  Contributions open_;  // own, without an outcome, in order
  std::map<comm::Round, Done> awaited_by_;
  std::deque<comm::Outcome> unconfirmed_;            // another server may need it
  std::map<comm::Round, comm::Outcome> reductions_;  // of iterations that are not forgotten
  std::vector<comm::Round> awaited_;
  std::set<std::string> refusals_;                     // each is said once
  std::vector<std::pair<comm::Outcome, Done>> again_;  // asked for, and known already
  std::map<std::uint64_t, std::int64_t> over_;
  std::int64_t known_ = 0, restarts_ = 0;
  comm::View view_;
  std::string why_alone_;
  std::int64_t unsure_from_ = INT64_MAX;
};

/// The iteration of a reduction's number, and that number.
inline std::int64_t iteration_of(const comm::Round& reduction) { return reduction.number >> 16; }
inline std::int64_t number_of(std::int64_t iteration, std::uint16_t call) {
  return iteration << 16 | call;
}

}  // namespace leat::server

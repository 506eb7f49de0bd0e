// SPDX-License-Identifier: Apache-2.0
// One server among those of its run: who is there, and operations of all of them together. It has no
// clock, thread or socket of its own, so that whole runs can be simulated.
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
#include "lib/comm/rounds.hpp"

namespace leat::comm {

/// What one that goes on for a server that was killed knows of it, by that one's journal. That one journaled
/// each contribution before it made it; and before it confirmed an outcome, that outcome, and before
/// it the view and the reason why it was alone, as they were then.
struct Resume {
  std::int64_t restarts = 1;  ///< grows each time that this server is started again
  View view{};
  std::string why_alone{};          ///< "": it was not
  std::int64_t known = 0;           ///< the last outcome
  std::vector<Outcome> outcomes{};  ///< up to that one, at least from confirmed() + 1
  std::vector<Round> over{};        ///< of each channel the last that has an outcome
  std::vector<std::pair<Round, Columns>> contributions{};  ///< without outcome, in their order
};

struct MemberSettings {
  Rank self = 0;
  Rank size = 1;
  Rank fan_out = 32;               ///< children of a server in the tree
  std::int64_t silence_ns = 0;     ///< who is silent for longer is dead for the others
  std::int64_t give_up_ns = 0;     ///< who has heard nothing of a root for longer goes on alone
  std::int64_t start_ns = 0;       ///< the same two, until a server has been there once
  std::int64_t most_open = 65536;  ///< rounds
  std::size_t most_bytes = std::size_t{16} << 20;  ///< of one contribution
  std::optional<Resume> resume{};                  ///< empty: it was never there before
};

// Servers form a tree: that of rank r > 0 hangs below (r - 1) / fan_out, or below the nearest
// ancestor that lives. Contributions go up it, made one on the way; the root makes an outcome when
// all that live have contributed, and outcomes go down. So a server sends and gets one message for
// each round, and all get the outcomes in the same order.
//
// The root sends a pulse. A server that is not attached to it for `silence` is dead for all, for
// ever: when it speaks again, it learns so, and observes. It gets the outcomes as all others, but what it
// contributes is heard by nobody; where outcomes that it lacks are kept no more, it goes on alone, with what
// it had contributed. When the pulse stops, servers attach
// to the lowest rank that lives. As soon as that one has most of those that were in the view, it has
// their outcomes sent to it, and is the root of the next epoch. Who is cut off from most of the others
// goes on alone after `give_up`: its rounds have its own contributions only. So nothing waits for
// ever, and there are never two roots that have most of the servers.
//
// An outcome that a root made and only servers that died with it, or were cut off with it, have
// received is made anew by the next root. Who has it and is alive finds out, and goes on alone.
//
// A server that was killed may go on by its journal: its children send again what they ever sent, and
// the others see a link that was lost and is there again. If it was the root, it must be elected as
// any other, by all that live, or after `silence` by most of them. Who finds no root and
// is none asks one server after the other.
//
// Not thread-safe. Every call but set_time() may make messages and outcomes.
class Member {
 public:
  Member(MemberSettings settings, std::int64_t now_ns);

  // For the application

  /// "", or why it is not taken. What is too large is refused, and nothing contributed in its place, so
  /// that nobody waits for it. Numbers grow in a channel, and may be skipped: who contributes to a
  /// round contributes nothing to lower ones of its channel from then on. Whose part in a channel
  /// has ended contributes to INT64_MAX.
  std::string contribute(const Round& round, Columns columns);
  /// Rounds to which this server has not contributed and others have, some time ago. Each comes
  /// again after a while, until this server has contributed to it or to a later one.
  std::vector<Round> take_awaited();
  /// Outcomes up to this sequence need not be kept for this server.
  void confirm(std::int64_t sequence);
  /// Nor for any other one: what goes on for this server needs none of these.
  std::int64_t confirmed() const { return confirmed_; }
  /// Nothing more is needed of the others.
  void leave();
  std::vector<Outcome> take_outcomes() { return std::exchange(outcomes_, {}); }

  const View& view() const { return view_; }
  bool is_root() const { return leads() && is_rooted_; }
  /// Attached to a root of most servers.
  bool is_joined() const { return !is_alone() && is_rooted_; }
  /// Why it goes on without the others, or "".
  const std::string& why_alone() const { return why_alone_; }
  bool is_alone() const { return !why_alone_.empty(); }
  /// It is dead for the others, and follows them: it has no part in later outcomes than this one.
  bool is_observer() const { return !is_alone() && view_.dead.has(settings_.self); }
  std::optional<std::int64_t> observes_since() const { return observes_since_; }
  bool has_left() const;
  /// At a root, the others see their own children only: who is waited for.
  RankSet awaited(std::uint64_t channel) const;

  // For the network

  void set_time(std::int64_t now_ns) { now_ns_ = now_ns; }
  /// A link to that one can be used, or is no more. Messages of a link arrive in order, and once.
  void connected(Rank peer);
  void disconnected(Rank peer);
  void receive(Rank from, Message message);
  /// At next_tick_ns() or before.
  void tick();
  std::int64_t next_tick_ns() const { return next_tick_ns_; }
  std::vector<std::pair<Rank, Message>> take_messages() { return std::exchange(messages_, {}); }
  /// To whom this one is to make a link; of its links it keeps that and those that others made.
  std::optional<Rank> wanted_link() const { return parent_ ? parent_ : asked_; }

 private:
  struct Child {
    RankSet attached{}, leaving{};
    std::int64_t known = 0, confirmed = 0;
    std::int64_t heard_ns = 0;
  };

  void resume(Resume from);

  // Who is there
  bool leads() const {
    return !is_alone() && view_.root == settings_.self && is_elected_ &&
           !view_.left.has(settings_.self);
  }
  const RankSet& members() const { return members_; }
  /// After each change of it.
  void look_at_view();
  std::int64_t kept() const { return log_.empty() ? known_ + 1 : log_.front().sequence; }
  /// What its children say together, found anew when one of them says something else.
  struct Below {
    RankSet attached{};  ///< and this one
    RankSet leaving{};   ///< and this one
    RankSet
        children{};  ///< in the tree as it was in the beginning: their contributions are waited for
    bool is_told = false;  ///< it is what the last Up said, or would say
  };
  const Below& below() const;
  const RankSet& attached() const { return below().attached; }
  const RankSet& leaving() const { return below().leaving; }
  bool has_most(const RankSet& some) const;
  void adopt(const View& view);
  void go_alone(std::string why);
  void drop(Rank child);
  void end_if_too_many(const Round& round);
  void forget_gone();

  // The tree
  Rank above(Rank rank) const { return (rank - 1) / settings_.fan_out; }
  bool is_suspected(Rank rank) const { return suspected_.contains(rank); }
  void suspect(Rank rank);
  Rank candidate() const;
  std::optional<Rank> best_parent() const;
  void choose_parent();
  void attach();
  void send_up();
  void send_down(Rank child);
  void send_down();
  void send(Rank to, Message message) { messages_.emplace_back(to, std::move(message)); }

  // Kinds of messages
  void on(Rank from, Up up);
  void on(Rank from, Down down);
  void on(Rank from, Partial partial);
  void on(Rank from, Outcome outcome);
  void on(Rank from, const Want& want);
  void on(Rank from, const Ask& ask);

  // As time goes by
  void look_at_children();
  void look_at_root();
  void ask_another();
  void lead();
  void bury_and_let_go();
  void succeed();
  void become_root();
  std::int64_t next_epoch() const;

  // Rounds
  void pass_on();
  void take(Outcome outcome, std::optional<Rank> from);
  void look_at_awaited(const std::vector<Awaited>& all);
  void want_more(Rank of, std::int64_t known);
  std::int64_t confirmed_below() const;
  void trim(std::int64_t confirmed);
  void log(Outcome outcome);

  MemberSettings settings_;
  RankSet all_, members_;  // ever; and those of them who are not gone
  std::int64_t now_ns_, next_tick_ns_ = 0;
  View view_;
  std::string why_alone_;
  bool is_leaving_ = false;
  std::int64_t known_at_leave_ = 0;
  std::int64_t restarts_ = 0;
  bool is_elected_ = true;  // of the root of its view: it was not killed since

  std::optional<Rank> parent_;
  std::int64_t parent_since_ns_ = 0, parent_heard_ns_ = 0;
  std::optional<Rank> asked_;
  RankSet linked_;
  std::map<Rank, Child> children_;
  mutable std::optional<Below> below_;      // empty: to be found anew
  std::map<Rank, std::int64_t> suspected_;  // since when
  RankSet refused_;  // they were dead when they sent partials, and have yet to send them again
  std::uint64_t pulse_ = 0;
  std::int64_t pulse_ns_;   // when there was the last one
  bool is_rooted_ = false;  // it was less than `silence` ago; of a root: it has most of the others
  bool was_rooted_ = false;
  std::map<Rank, std::int64_t> missing_;  // at a root: when they are dead
  RankSet told_attached_, told_leaving_;  // in the last Up

  Rounds rounds_;
  std::int64_t known_ = 0, own_confirmed_ = 0, confirmed_ = 0;
  std::deque<Outcome> log_;  // up to known_, from confirmed_ + 1, or before that for observers
  std::size_t log_bytes_ = 0;
  std::optional<std::int64_t> observes_since_;
  std::vector<Outcome> outcomes_;
  std::vector<Awaited> awaited_above_, awaited_below_;  // as the parent says; by this one
  std::set<Round> awaited_;
  std::vector<std::pair<Rank, Message>> messages_;
};

}  // namespace leat::comm

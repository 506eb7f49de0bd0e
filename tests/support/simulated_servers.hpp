// SPDX-License-Identifier: Apache-2.0
// Servers of a run in a network that exists in one process alone: time, delays and faults come of a
// seed, so that whatever goes wrong goes wrong again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/member.hpp"
#include "tests/support/simulated_events.hpp"

namespace leat::comm::test {

constexpr std::int64_t kMicro = 1000, kMilli = 1000 * kMicro, kSecond = 1000 * kMilli;

/// What a server has written down, and one that goes on for it reads.
struct Journal {
  std::int64_t starts = 0;
  View view{};
  std::string why_alone{};
  std::int64_t confirmed = 0;
  std::size_t next = 0;  ///< in the program
  std::vector<std::pair<Round, Columns>> contributions{};
  std::vector<Outcome> outcomes{};

  Resume resume() const {
    Resume all;
    all.restarts = starts;
    all.view = view;
    all.why_alone = why_alone;
    all.known = static_cast<std::int64_t>(outcomes.size());
    std::map<std::uint64_t, std::int64_t> over;
    for (const Outcome& each : outcomes) {
      over[each.round.channel] = each.round.number;
      if (each.sequence > confirmed) all.outcomes.push_back(each);
    }
    for (const auto& [channel, number] : over) all.over.push_back({channel, number});
    for (const auto& each : contributions)
      if (!over.contains(each.first.channel) || over[each.first.channel] < each.first.number)
        all.contributions.push_back(each);
    return all;
  }
};

/// What a server contributes to, in its order, and what.
struct Program {
  std::function<std::vector<Round>(Rank)> rounds{};
  std::function<Columns(Rank, const Round&)> columns{};

  /// Every server to all of channel 0.
  static std::function<std::vector<Round>(Rank)> all(std::int64_t count) {
    return [count](Rank) {
      std::vector<Round> rounds;
      for (std::int64_t i = 0; i < count; ++i) rounds.push_back({0, i});
      return rounds;
    };
  }
};

/// Each server contributes to one round after the other, at random moments, whatever the others do; and
/// nothing to those that others have and its program has not.
class SimulatedServers {
 public:
  struct Plan {
    std::uint64_t seed = 1;
    Rank size = 4;
    Rank fan_out = 2;
    std::int64_t most_between_ns =
        60 * kMilli;  ///< from one contribution to the next, and to the first
    std::int64_t least_delay_ns = 50 * kMicro, most_delay_ns = 150 * kMicro;
    std::int64_t most_journal_ns = 20 * kMilli;  ///< until something is written down
    std::int64_t silence_ns = 200 * kMilli, give_up_ns = 500 * kMilli;
  };

  SimulatedServers(const Plan& plan, Program program)
      : plan_(plan),
        program_(std::move(program)),
        random_(plan.seed),
        servers_(static_cast<std::size_t>(plan.size)) {
    for (Rank rank = 0; rank < plan.size; ++rank) of(rank).program = program_.rounds(rank);
    for (Rank rank = 0; rank < plan.size; ++rank)
      at(between(0, 300 * kMilli), rank, [this, rank] { start(rank); });
  }

  /// Up to this moment.
  void run(std::int64_t until_ns) {
    while (!events_.empty() && events_.first_ns() < until_ns) {
      now_ns_ = events_.first_ns();
      happen(events_.take_first());
    }
    now_ns_ = until_ns;
  }

  std::int64_t now_ns() const { return now_ns_; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

  // Faults
  void kill(Rank rank) {
    of(rank).is_dead = true;
    for (Rank maker = 0; maker < plan_.size; ++maker)
      for (auto& [to, link] : of(maker).links)
        if (maker == rank || to == rank) cut({maker, to}, &link);
  }
  /// It needs nothing more of the others.
  void leave(Rank rank) {
    at(now_ns_, rank, [this, rank] { of(rank).member->leave(); });
  }
  /// A new one goes on for the one that was killed, by its journal.
  void restart_after(Rank rank, std::int64_t ns) {
    of_network_at(now_ns_ + ns, [this, rank] {
      if (of(rank).is_dead) restart(rank);
    });
  }
  /// It does nothing for so long, and then all at once that has happened meanwhile.
  void stop(Rank rank, std::int64_t ns) {
    Server& server = of(rank);
    const std::int64_t begin_ns = std::max(now_ns_, server.stopped_until_ns);
    server.stopped_until_ns = std::max(begin_ns, now_ns_ + ns);
    server.stopped_ns += server.stopped_until_ns - begin_ns;
  }
  /// These reach each other only, and so do the others.
  void part(const RankSet& some, std::int64_t ns) {
    for (Rank rank = 0; rank < plan_.size; ++rank)
      if (some.has(rank)) of(rank).side = 1;
    of_network_at(now_ns_ + ns, [this] {
      for (Server& each : servers_) each.side = 0;
    });
  }

  const Member& member(Rank rank) const { return *of(rank).member; }
  /// Whom the newest view says.
  Rank root() const {
    View newest;
    for (const Server& each : servers_)
      if (each.member && each.member->view().is_newer_than(newest)) newest = each.member->view();
    return newest.root;
  }
  bool is_dead(Rank rank) const { return of(rank).is_dead; }
  bool was_killed(Rank rank) const { return of(rank).journal.starts > 1; }
  /// Of one that was killed, those that it had written down and those that came after.
  const std::vector<Outcome>& outcomes(Rank rank) const { return of(rank).outcomes; }
  std::uint64_t seed() const { return plan_.seed; }
  const Journal& journal(Rank rank) const { return of(rank).journal; }
  /// Why contributions of this one were not taken.
  const std::vector<std::string>& refused(Rank rank) const { return of(rank).refused; }
  /// When the last outcome came, anywhere.
  std::int64_t last_outcome_ns() const { return last_outcome_ns_; }
  /// Of contributions and outcomes; and of all else, which time alone brings.
  std::uint64_t messages_of_rounds() const { return messages_of_rounds_; }
  std::uint64_t bytes_of_rounds() const { return bytes_of_rounds_; }
  std::uint64_t other_messages() const { return other_messages_; }

 private:
  struct Link {
    std::uint64_t number = 0;  ///< 0: none
    bool is_up = false;
    bool is_broken = false;            ///< something was lost: nothing arrives any more
    std::int64_t last_ns[2] = {0, 0};  ///< of the messages of either end
  };
  using Ends = std::pair<Rank, Rank>;  // who has made it, and to whom
  struct Server {
    std::unique_ptr<Member> member{};
    bool is_dead = false;
    int side = 0;
    std::int64_t stopped_until_ns = 0, tick_ns = -1;
    std::int64_t stopped_ns = 0;  ///< in all, as its RunningClock has it
    std::vector<Round> program{};
    std::size_t given = 0;  ///< of what is written down
    std::vector<std::string> refused{};
    std::vector<Outcome> outcomes{};
    Journal journal{};
    std::map<Rank, Link> links{};  ///< that it has made, by the other end
  };

  static constexpr std::int64_t kUserTimeout = 150 * kMilli, kRetry = 50 * kMilli;

  Server& of(Rank rank) { return servers_[static_cast<std::size_t>(rank)]; }
  const Server& of(Rank rank) const { return servers_[static_cast<std::size_t>(rank)]; }
  void at(std::int64_t ns, Rank rank, std::function<void()> what) {
    events_.add(ns, {rank, of(rank).journal.starts, std::move(what)});
  }
  void of_network_at(std::int64_t ns, std::function<void()> what) {
    events_.add(ns, {-1, 0, std::move(what)});
  }
  std::int64_t delay() { return between(plan_.least_delay_ns, plan_.most_delay_ns); }

  void happen(SimulatedEvent event) {
    if (event.rank < 0) return event.what();
    Server& server = of(event.rank);
    if (server.is_dead || server.journal.starts != event.life) return;
    if (server.stopped_until_ns > now_ns_)
      return at(server.stopped_until_ns, event.rank, std::move(event.what));
    if (server.member) server.member->set_time(now_ns_ - server.stopped_ns);
    event.what();
    if (server.member) see_to(event.rank);
  }

  MemberSettings settings_of(Rank rank) const {
    MemberSettings settings;
    settings.self = rank;
    settings.size = plan_.size;
    settings.fan_out = plan_.fan_out;
    settings.silence_ns = plan_.silence_ns;
    settings.give_up_ns = plan_.give_up_ns;
    settings.start_ns = 3 * kSecond;
    return settings;
  }

  void start(Rank rank) {
    Server& server = of(rank);
    ++server.journal.starts;
    server.member = std::make_unique<Member>(settings_of(rank), now_ns_ - server.stopped_ns);
    contribute_later(rank);
    see_to(rank);
  }

  void restart(Rank rank) {
    Server& server = of(rank);
    MemberSettings settings = settings_of(rank);
    settings.resume = server.journal.resume();
    server.is_dead = false;
    server.stopped_until_ns = 0;
    server.tick_ns = -1;
    server.given = server.journal.contributions.size();
    server.outcomes = server.journal.outcomes;
    ++server.journal.starts;
    server.member = std::make_unique<Member>(std::move(settings), now_ns_ - server.stopped_ns);
    contribute_later(rank);
    see_to(rank);
  }

  void contribute_later(Rank rank) {
    at(now_ns_ + between(1, plan_.most_between_ns), rank, [this, rank] {
      Server& server = of(rank);
      if (server.journal.next == server.program.size()) return;
      const Round round = server.program[server.journal.next++];
      contribute(rank, round, program_.columns(rank, round));
      contribute_later(rank);
    });
  }

  // It may be killed after it has written it down, and before it has contributed it.
  void contribute(Rank rank, const Round& round, Columns columns) {
    std::vector<std::pair<Round, Columns>>& all = of(rank).journal.contributions;
    all.emplace_back(round, std::move(columns));
    at(now_ns_ + between(0, plan_.most_journal_ns) / 10, rank, [this, rank, end = all.size()] {
      Server& server = of(rank);
      for (; server.given < end; ++server.given) {
        const auto& [given, what] = server.journal.contributions[server.given];
        std::string why_not = server.member->contribute(given, what);
        if (!why_not.empty()) server.refused.push_back(std::move(why_not));
      }
    });
  }

  // It contributes nothing where its program has nothing more to contribute.
  void contribute_nothing(Rank rank, const Round& round) {
    const Server& server = of(rank);
    const auto is_due = [&round](const Round& each) {
      return each.channel == round.channel && each.number <= round.number;
    };
    for (std::size_t i = server.journal.next; i < server.program.size(); ++i)
      if (is_due(server.program[i])) return;
    for (const auto& each : server.journal.contributions)
      if (each.first.channel == round.channel && each.first.number >= round.number) return;
    contribute(rank, round, {});
  }

  // In its order, so the next one may be written down with it.
  void write_down_later(Rank rank, std::int64_t sequence) {
    at(now_ns_ + between(0, plan_.most_journal_ns), rank,
       [this, rank, sequence, view = of(rank).member->view(),
        why_alone = of(rank).member->why_alone()] {
         Server& server = of(rank);
         Journal& journal = server.journal;
         const auto written = static_cast<std::int64_t>(journal.outcomes.size());
         if (sequence <= written) return;
         journal.view = view;
         journal.why_alone = why_alone;
         journal.outcomes.insert(journal.outcomes.end(), server.outcomes.begin() + written,
                                 server.outcomes.begin() + sequence);
         journal.confirmed = server.member->confirmed();
         server.member->confirm(sequence);
       });
  }

  // What the member wants after whatever has happened to it.
  void see_to(Rank rank) {
    Server& server = of(rank);
    for (Outcome& each : server.member->take_outcomes()) {
      last_outcome_ns_ = now_ns_;
      server.outcomes.push_back(std::move(each));
      write_down_later(rank, static_cast<std::int64_t>(server.outcomes.size()));
    }
    for (const Round& each : server.member->take_awaited()) contribute_nothing(rank, each);
    for (const auto& [to, message] : server.member->take_messages()) deliver(rank, to, message);
    keep_link(rank);
    const std::int64_t tick_ns = server.member->next_tick_ns();
    if (tick_ns == INT64_MAX || tick_ns == server.tick_ns) return;
    server.tick_ns = tick_ns;
    at(tick_ns + server.stopped_ns, rank, [this, rank, tick_ns] {
      if (of(rank).member->next_tick_ns() == tick_ns) of(rank).member->tick();
    });
  }

  Link* link_between(Rank a, Rank b) {
    for (const auto& [maker, to] : {Ends{a, b}, Ends{b, a}}) {
      std::map<Rank, Link>& links = of(maker).links;
      if (const auto found = links.find(to); found != links.end() && found->second.is_up)
        return &found->second;
    }
    return nullptr;
  }

  void deliver(Rank from, Rank to, const Message& message) {
    Link* const link = link_between(from, to);
    if (!link) return;
    std::string bytes = bytes_of(message);
    if (std::holds_alternative<Partial>(message) || std::holds_alternative<Outcome>(message)) {
      ++messages_of_rounds_;
      bytes_of_rounds_ += bytes.size();
    } else {
      ++other_messages_;
    }
    std::int64_t& last = link->last_ns[from < to];
    last = std::max(last, now_ns_ + delay());
    at(last, to, [this, from, to, number = link->number, sent = std::move(bytes)] {
      Link* const now = link_between(from, to);
      if (!now || now->number != number || now->is_broken || !of(to).member) return;
      if (of(from).side != of(to).side) {
        now->is_broken = true;
        return break_link(from, to, number);
      }
      std::optional<Message> message_there = message_in(sent);
      of(to).member->receive(from, std::move(*message_there));
    });
  }

  // Who is not reached learns it when nothing was acknowledged for long.
  void break_link(Rank a, Rank b, std::uint64_t number) {
    of_network_at(now_ns_ + kUserTimeout, [this, a, b, number] {
      for (const auto& [maker, to] : {Ends{a, b}, Ends{b, a}}) {
        const auto link = of(maker).links.find(to);
        if (link != of(maker).links.end() && link->second.number == number)
          cut({maker, to}, &link->second);
      }
    });
  }

  void cut(const Ends& ends, Link* link) {
    const bool was_up = std::exchange(*link, {}).is_up;
    if (!was_up) return;
    for (const auto& [end, other] : {ends, Ends{ends.second, ends.first}})
      at(now_ns_ + kMicro, end, [this, end = end, other = other] {
        if (of(end).member && !link_between(end, other)) of(end).member->disconnected(other);
      });
  }

  void keep_link(Rank rank) {
    const std::optional<Rank> wanted = of(rank).member->wanted_link();
    std::map<Rank, Link>& links = of(rank).links;
    for (auto each = links.begin(); each != links.end();) {
      const auto here = each++;
      if (here->second.number && here->first == wanted) continue;
      cut({rank, here->first}, &here->second);
      links.erase(here);
    }
    if (!wanted) return;
    Link& link = links[*wanted];
    if (link.number) return;
    link = {++next_link_, false, false, {0, 0}};
    connect({rank, *wanted}, next_link_);
  }

  void connect(const Ends& ends, std::uint64_t number) {
    at(now_ns_ + 2 * delay(), ends.first, [this, ends, number] {
      Link& link = of(ends.first).links[ends.second];
      if (link.number != number) return;
      const Server& other = of(ends.second);
      const bool answers = !other.is_dead && other.member && other.stopped_until_ns <= now_ns_ &&
                           other.side == of(ends.first).side;
      if (!answers) {
        at(now_ns_ + kRetry, ends.first, [this, ends, number] { connect(ends, number); });
        return;
      }
      link.is_up = true;
      for (const auto& [end, peer] : {ends, Ends{ends.second, ends.first}})
        at(now_ns_, end, [this, end = end, peer = peer] { of(end).member->connected(peer); });
    });
  }

  Plan plan_;
  Program program_;
  std::mt19937_64 random_;
  std::int64_t now_ns_ = 0, last_outcome_ns_ = 0;
  std::uint64_t next_link_ = 0;
  std::vector<Server> servers_;
  SimulatedEvents events_;
  std::uint64_t messages_of_rounds_ = 0, bytes_of_rounds_ = 0, other_messages_ = 0;
};

}  // namespace leat::comm::test

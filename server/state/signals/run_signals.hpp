// SPDX-License-Identifier: Apache-2.0
// Events of the whole run where several servers have its ranks. This server publishes what its ranks signal, and an
// iteration goes to the stores when the reports of all servers cover it. Nothing else waits for that, and it ends when a
// server is silent for too long. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/state/clients/clients.hpp"
#include "server/state/iterations/tracker.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/run.hpp"
#include "server/state/signals/agreement.hpp"
#include "server/state/signals/group_thread.hpp"

namespace leat::server {

// What ranks of this server have signalled, and what it reports of that to the other servers of the run.

// What ranks have signalled and is not decided on, in order. Private to the engine's thread.
class PendingSignals {
 public:
  PendingSignals() = default;
  explicit PendingSignals(std::vector<PendingSignal> all) : all_(std::move(all)) {}

  /// The same one in a row is counted, and so is any, when there are very many.
  void add(const PendingSignal& signal);
  /// Those up to this iteration.
  std::vector<PendingSignal> take(std::int64_t iteration);
  bool any_until(std::int64_t iteration) const noexcept;
  const std::vector<PendingSignal>& all() const noexcept { return all_; }

 private:
  std::vector<PendingSignal> all_;
};

// The report of this server: once an iteration is in a published report, that part of it stays as it is. Private to the
// engine's thread.
class OwnReport {
 public:
  /// `events`: those of the model that it is about.
  OwnReport(const Run& run, const Clients& clients, const IterationTracker& iterations,
            std::vector<std::uint32_t> events);

  const std::vector<std::uint32_t>& events() const noexcept { return events_; }
  /// This event of the model is one of them.
  bool has(std::uint32_t event) const noexcept;
  void add(const PendingSignal& signal) { pending_.add(signal); }
  /// From outside: once, in the next iteration that is reported.
  void request(std::uint32_t event) { ++requested_[place_of(event)]; }

  const Report& report() const noexcept { return report_; }
  /// How often a rank has signalled it, reported or not.
  std::int64_t signalled(std::uint32_t event) const;
  /// True: more iterations have been ended, and what was signalled in them is in the report.
  bool take_ended();
  /// Forgets what lies before `needed`, and what only a server would need that is too far behind.
  void forget_before(std::int64_t needed);
  /// The line to be published now.
  std::string line(std::vector<std::string> knows, std::int64_t decided);
  /// Nothing more is reported.
  void give_up(const std::string& why);
  const std::string& why_given_up() const noexcept { return why_given_up_; }

  // Recovery where a server has died
  ReportPublished published() const { return {line_of(report_), why_given_up_}; }
  void apply(const ReportPublished& record);
  void apply(const RunSignalsSnapshot& record);
  /// The server before this one had published it.
  void resume(Report report) { report_ = std::move(report); }
  /// Fills in what is this report's of a snapshot.
  void store_in(RunSignalsSnapshot* record) const;

 private:
  std::size_t place_of(std::uint32_t event) const;
  std::vector<Tally> tallies() const;
  void count(std::int64_t until);
  void take_step(std::int64_t iteration);

  const Run& run_;
  const Clients& clients_;
  const IterationTracker& iterations_;
  std::vector<std::uint32_t> events_;
  Report report_;
  std::string why_given_up_;
  PendingSignals pending_;
  CallCounts counts_;                    // of what is reported
  std::vector<std::int64_t> requested_;  // by event
};

class RunSignals {
 public:
  /// Null: one server has all ranks, or no event is of the whole run; nothing is done here then.
  RunSignals(const Run& run, const Clients& clients, const IterationTracker& iterations,
             SessionJournal& journal, std::unique_ptr<Group> group, std::function<void()> wake);

  bool is_on() const noexcept { return thread_ != nullptr; }
  /// Of events that are decided here.
  OwnReport& own() noexcept { return own_; }
  void start();
  /// Publishes the last report.
  void stop();

  /// Publishes what has been ended, and takes what the others have published: iterations of which it
  /// has become known that something happens in them.
  std::vector<std::int64_t> advance();
  /// It is known what happens in all iterations up to this one.
  std::int64_t known_until() const noexcept;
  std::vector<Signal> agreed(std::int64_t iteration) const;
  /// The same; they happen in another one.
  std::vector<Signal> take(std::int64_t iteration);
  void forget(std::int64_t iteration) {
    agreed_.erase(agreed_.begin(), agreed_.upper_bound(iteration));
  }
  /// For what depends on time, now and then.
  void tick();
  bool has_news() const noexcept { return thread_ && thread_->has_update(); }
  /// When tick() has something to do; INT64_MAX: never.
  std::int64_t next_deadline_ns() const noexcept;
  /// For others.
  bool waits() const noexcept;
  /// Nothing more comes of the others that this server needs, or they of it.
  bool is_settled() const noexcept;
  /// No event of the whole run happens on this server any more.
  bool gave_up() const noexcept { return is_on() && own_.report().gave_up; }

  /// "iteration 12 waits for server node7 (rank 4 and others)", or "".
  std::string awaited() const;
  /// Of other servers, each once.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }
  /// How often this event was signalled more than it has happened, and why.
  std::int64_t missing(std::uint32_t event, std::string* why) const;

  // Recovery where a server has died
  void apply(const ReportPublished& record);
  void apply(const RunSignalsAgreed& record);
  void apply(const RunSignalsSnapshot& record);
  /// `lost`: what that one knew is gone. Iterations in which something happens yet.
  std::vector<std::int64_t> take_over(std::int64_t done, bool lost);
  RunSignalsSnapshot snapshot() const;

 private:
  std::string why_stuck() const;
  void publish();
  void give_up(const std::string& why);
  void poll();

  const Run& run_;
  SessionJournal& journal_;
  OwnReport own_;
  SilenceTimer silence_;
  std::unique_ptr<GroupThread> thread_;
  std::optional<Agreement> agreement_;
  std::map<std::int64_t, std::vector<std::int64_t>> agreed_;  // by iteration: times, by event
  std::vector<std::string> warnings_;
  std::string problem_;  // why nothing can be published
  std::int64_t published_ns_ = 0;
  bool is_lost_ = false;  // what the server before this one had published is yet to be read
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What the servers of a run agree on in each iteration: events of the whole run, and which iterations are dropped. Private to
// the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/state/clients/clients.hpp"
#include "server/state/group/run_rounds.hpp"
#include "server/state/group/run_steering.hpp"
#include "server/state/iterations/tracker.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/run.hpp"

namespace leat::server {

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

// There is one round for each iteration. A server contributes when all its ranks have ended the iteration: how often they
// have signalled each event of the run up to there, and whether it has dropped the iteration. What it has contributed stays
// so. The outcome says, on all servers alike, which events happen in the iteration, and whether it is dropped.
//
// Where events of the run or dropped iterations depend on it, an iteration goes to the stores when its outcome is there, and
// nothing else waits for it. A server that is silent for too long is not waited for (lib/comm/member.hpp).
class RunIterations {
 public:
  RunIterations(const Run& run, const Clients& clients, const IterationTracker& iterations,
                const Dropped& dropped, RunSteering& steering, RunRounds& rounds);

  /// Several servers have the ranks of the run.
  bool is_on() const noexcept { return !run_.facts.has_all_ranks(); }
  /// An iteration that this server has reported is dropped on all servers, or on none.
  bool drops_together() const noexcept { return drops_together_; }

  /// This event of the model is decided on here.
  bool has(std::uint32_t event) const noexcept;
  void add(const PendingSignal& signal) { pending_.add(signal); }
  /// From outside: once, in the next iteration that is reported.
  void request(std::uint32_t event) { ++requested_[place_of(event)]; }

  /// A rank of this server has ended these. What none has ended is not reported: leat_begin_iteration went over it.
  void ended(std::int64_t first, std::int64_t last);
  /// Contributes what has been ended.
  void advance();
  /// Iterations of which it has become known that something happens in them.
  std::vector<std::int64_t> take_agreed() { return std::exchange(new_, {}); }
  /// Iterations that another server has dropped, and why.
  std::vector<std::pair<std::int64_t, std::string>> take_drops() {
    return std::exchange(drops_, {});
  }
  /// All iterations up to this one may go to the stores. When no rank is left, and what they have ended is known, nothing comes of
  /// the others any more: what is opened after that, as for events of a dropped iteration, waits for nobody.
  std::int64_t known_until() const noexcept {
    return !holds_ || (has_ended_ && !waits()) ? INT64_MAX : next_ - 1;
  }
  /// No iteration after this one was reported.
  std::int64_t reported() const noexcept { return reported_; }
  /// That has no outcome yet.
  std::int64_t next() const noexcept { return next_; }
  std::vector<Signal> agreed(std::int64_t iteration) const;
  /// The same; they happen in another one.
  std::vector<Signal> take(std::int64_t iteration);
  void forget(std::int64_t iteration) {
    agreed_.erase(agreed_.begin(), agreed_.upper_bound(iteration));
  }

  /// Iterations of this server wait for other servers.
  bool waits() const noexcept;
  /// Nothing more comes of the others that this server needs.
  bool is_settled() const noexcept { return !is_on() || !holds_ || (has_ended_ && !waits()); }
  /// "iteration 12 waits for server node7", or "".
  std::string awaited() const;
  /// It may go alone after its last iteration, while scripts and stores still reduce: it says so too.
  void look_whether_alone();
  /// Of other servers, each once.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }
  /// Why what happens here may be another thing than elsewhere.
  std::vector<std::string> take_lost() { return std::exchange(lost_, {}); }
  /// How often this event was signalled more than it has happened, and why.
  std::int64_t missing(std::uint32_t event, std::string* why) const;

  // Recovery where a server has died
  void apply(const RunIterationsSnapshot& record);
  RunIterationsSnapshot snapshot() const;
  /// What happens in iterations after `done`.
  std::vector<std::int64_t> take_over(std::int64_t done);

 private:
  std::size_t place_of(std::uint32_t event) const;
  comm::Columns columns(std::int64_t iteration, bool ends) const;
  void contributed(std::int64_t iteration);
  void skip_to_first();
  void count(std::int64_t iteration);
  std::int64_t furthest() const;
  void take(const comm::Outcome& outcome);
  void take_events(const comm::Outcome& outcome);
  void take_words(const comm::Outcome& outcome);
  void note_missing(const comm::Outcome& outcome);
  void note_alone(std::int64_t next);

  const Run& run_;
  const Clients& clients_;
  const IterationTracker& iterations_;
  const Dropped& dropped_;
  RunSteering& steering_;
  RunRounds& rounds_;
  std::vector<std::uint32_t> events_;  // of the model
  bool drops_together_, holds_;

  PendingSignals pending_;
  CallCounts counts_;                    // of what is reported
  std::vector<std::int64_t> requested_;  // by event, and not reported
  std::int64_t reported_ = -1;
  std::set<std::int64_t> ended_;  // by ranks of this server, and without an outcome
  bool has_ended_ = false;

  std::int64_t next_ = 0;                                      // that has no outcome
  std::vector<RunEventCount> happened_;                        // by event
  std::vector<std::pair<std::int64_t, std::int64_t>> spread_;  // by event: least and most of ranks
  std::map<std::int64_t, std::vector<std::int64_t>> agreed_;   // by iteration: times, by event
  std::vector<std::int64_t> new_;
  std::vector<std::pair<std::int64_t, std::string>> drops_;
  comm::RankSet missing_;  // servers
  bool is_alone_ = false;  // and that is told
  std::vector<std::string> warnings_, lost_;
};

}  // namespace leat::server

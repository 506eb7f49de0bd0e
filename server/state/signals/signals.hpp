// SPDX-License-Identifier: Apache-2.0
// Events of the XML that were signalled, and in which iterations they happen. An iteration's are decided when it is
// complete, by what ranks have signalled up to its end, and so by nothing that depends on time. Private to the engine's
// thread. docs/design/group.md draws the states that a signal goes through; each change of state is a record of the
// journal (journal/records.hpp), which apply() repeats in a server that takes over.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/state/clients/clients.hpp"
#include "server/state/group/run_iterations.hpp"
#include "server/state/iterations/tracker.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class Signals {
 public:
  Signals(const Run& run, Clients& clients, IterationTracker& iterations, SessionJournal& journal,
          const Dropped& dropped, RunIterations& of_run);

  /// A rank has signalled an event of the model, in an iteration that it is in.
  void receive(std::uint32_t client, std::uint32_t event, std::int64_t iteration);
  /// Somebody outside has: it happens in the next iteration, once. "", or why that is refused.
  std::string request(const std::string& name);

  /// Takes what other servers have published of events of the whole run: may make iterations complete.
  void advance();
  /// What happens in this iteration, which is complete and comes after all that were asked for.
  std::vector<Signal> decide(std::int64_t iteration);
  /// The iteration is dropped before any store has begun it: its events happen in the next one.
  void defer(std::int64_t iteration);
  /// It is dropped before it was complete.
  void iteration_dropped(std::int64_t iteration);
  /// All up to this one are done.
  void forget(std::int64_t iteration) {
    decided_.erase(decided_.begin(), decided_.upper_bound(iteration));
    of_run_.forget(iteration);
  }
  /// An event waits for the next iteration: that comes to be complete though nobody writes in it.
  void open_next();
  /// At the end: of each event that was signalled and did not happen, why.
  std::vector<std::string> never_happened() const;

  // Recovery where a server has died
  void apply(const SignalReceived& record);
  void apply(const SignalRequested& record) { add_requested(record.event); }
  void apply(const SignalsDecided& record);
  void apply(const SignalsDeferred& record) { undecide(record.iteration); }
  void apply(const RunSignalsDeferred& record) { defer_agreed(record.iteration); }
  void apply(const SignalsSnapshot& record);
  /// When all records are applied, and it is known where the clients are.
  void take_over(std::int64_t done);
  /// What a successor needs, for a journal that is rewritten.
  std::vector<JournalRecord> snapshot() const;

 private:
  bool awaits_all(std::uint32_t event) const;
  void add(const PendingSignal& signal);
  void add_requested(std::uint32_t event);
  void take_agreed(std::int64_t iteration);
  void defer_agreed(std::int64_t iteration);
  std::int64_t missing(std::uint32_t event, std::string* why) const;
  bool undecide(std::int64_t iteration);
  std::vector<Signal> take_ready(std::int64_t iteration);
  std::vector<PendingSignal> take_pending(std::int64_t iteration);
  void count(const PendingSignal& signal) {
    counts_.add(signal.event, signal.client, signal.times);
  }

  const Run& run_;
  Clients& clients_;
  IterationTracker& iterations_;
  SessionJournal& journal_;
  const Dropped& dropped_;
  RunIterations& of_run_;
  PendingSignals pending_;
  std::vector<ReadySignal> ready_;
  // Of those that await all ranks of this server, and how often each has happened.
  CallCounts counts_;
  std::vector<std::int64_t> happened_;
  std::map<std::int64_t, std::vector<Signal>> decided_;  // by iteration, until that is done
};

}  // namespace leat::server

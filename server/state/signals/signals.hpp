// SPDX-License-Identifier: Apache-2.0
// Events of the XML that were signalled, and in which iterations they happen. An iteration's are decided when it is
// complete, by what ranks have signalled up to its end, and so by nothing that depends on time. Private to the engine's
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/state/clients/clients.hpp"
#include "server/state/iterations/tracker.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/run.hpp"
#include "server/state/signals/own_report.hpp"
#include "server/state/signals/run_signals.hpp"

namespace leat::server {

class Signals {
 public:
  Signals(const Run& run, Clients& clients, IterationTracker& iterations, SessionJournal& journal,
          const Dropped& dropped, RunSignals& of_run);

  /// A rank has signalled an event of the model, in an iteration that it is in.
  void signalled(std::uint32_t client, std::uint32_t event, std::int64_t iteration);
  /// Somebody outside has: it happens in the next iteration, once. "", or why that is refused.
  std::string order(const std::string& name);

  /// Hears of other servers, where events are the whole run's: may make iterations complete.
  void advance();
  /// What happens in this iteration, which is complete and comes after all that were asked for.
  std::vector<Signal> decide(std::int64_t iteration);
  /// The iteration is left out before any store has begun it: its events happen in the next one.
  void give_back(const Iteration& iteration);
  /// It is left out before it was complete.
  void left_out(std::int64_t iteration);
  /// All up to this one are done.
  void forget(std::int64_t iteration) {
    decided_.erase(decided_.begin(), decided_.upper_bound(iteration));
    of_run_.forget(iteration);
  }
  /// At the end: of each event that was signalled and did not happen, why.
  std::vector<std::string> never_happened() const;

  // Going on where a server has died
  void take_entry(const nlohmann::json& entry);
  /// When all entries are taken, and it is known where the clients are.
  void take_over(std::int64_t done);
  /// What a successor needs, for a journal that is written anew.
  std::vector<nlohmann::json> entries() const;

 private:
  bool awaits_all(std::uint32_t event) const;
  void keep(const SaidSignal& said);
  void order_of(std::uint32_t event);
  void come_to_happen(std::int64_t iteration);
  void take_too_late(std::int64_t iteration);
  std::int64_t missing(std::uint32_t event, std::string* why) const;
  bool undecide(std::int64_t iteration);
  void open_next();
  std::vector<SaidSignal> take_said(std::int64_t iteration);
  void count(const SaidSignal& said) { counts_.add(said.event, said.client, said.times); }
  void take_decision(const nlohmann::json& entry);
  void take_all(const nlohmann::json& entry);
  nlohmann::json all() const;
  void note(const nlohmann::json& entry) { journal_.note({{"signals", entry}}); }

  const Run& run_;
  Clients& clients_;
  IterationTracker& iterations_;
  SessionJournal& journal_;
  const Dropped& dropped_;
  RunSignals& of_run_;
  SaidSignals said_;
  std::vector<Signal> ready_;  // happen in the next iteration, whichever it is
  // Of those that await all ranks of this server, and how often each has happened.
  CallCounts counts_;
  std::vector<std::int64_t> happened_;
  std::map<std::int64_t, std::vector<Signal>> decided_;  // by iteration, until that is done
};

}  // namespace leat::server

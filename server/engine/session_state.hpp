// SPDX-License-Identifier: Apache-2.0
// What a server knows of its session, all of it. All that is decided is decided by these, and they are what a successor
// makes anew (engine/failover.hpp). Private to the engine's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/state/clients/clients.hpp"
#include "server/state/group/joining.hpp"
#include "server/state/group/reductions.hpp"
#include "server/state/group/run_iterations.hpp"
#include "server/state/group/run_rounds.hpp"
#include "server/state/group/run_status.hpp"
#include "server/state/group/turns.hpp"
#include "server/state/iterations/times.hpp"
#include "server/state/iterations/tracker.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/ledger/record.hpp"
#include "server/state/memory/memory.hpp"
#include "server/state/parameters/parameters.hpp"
#include "server/state/run.hpp"
#include "server/state/signals/signals.hpp"
#include "server/state/trace/rank_tracks.hpp"

namespace leat::server {

struct SessionState {
  /// `wake` is called, from any thread, when memory or another server has news.
  SessionState(Run the_run, const std::string& journal_path, const std::function<void()>& wake)
      : run(std::move(the_run)),
        journal(journal_path),
        clients(run),
        iterations(clients.size()),
        times(clients.size()),
        mode(output_period(run.model)),
        memory(run, clients, wake),
        parameters(run, clients, journal),
        dropped(run, iterations, journal),
        joining(run, journal, wake),
        rounds(run, journal),
        reductions(rounds, wake),
        turns(run, rounds, wake),
        run_steering(run, parameters, journal),
        of_run(run, clients, iterations, dropped, run_steering, rounds),
        run_status(run, rounds),
        signals(run, clients, iterations, journal, dropped, of_run),
        record(run, clients, journal) {
    if (run.trace) ranks_traced.emplace(*run.trace, run.model, clients.size(), run.facts.resumed);
  }
  SessionState(const SessionState&) = delete;

  /// A parameter is to have another value. "", or why that is refused.
  std::string steer(const SteeringRequest& request) {
    return request.of_node || run.facts.has_all_ranks() ? parameters.steer(request)
                                                        : run_steering.request(request);
  }

  Run run;
  SessionJournal journal;
  Clients clients;
  IterationTracker iterations;
  IterationTimes times;
  ModeChoice mode;
  IterationEvents events;
  Memory memory;
  Parameters parameters;
  Dropped dropped;
  Joining joining;
  RunRounds rounds;  ///< of all servers of the run
  Reductions reductions;
  Turns turns;
  RunSteering run_steering;
  RunIterations of_run;
  RunStatus run_status;
  Signals signals;
  Record record;
  std::optional<RankTracks> ranks_traced;  ///< nothing: no trace is wanted
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// New values for parameters that all ranks of a run are to have from the same iteration on. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/message.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/parameters/parameters.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// On one node the segment decides (lib/shm/steering.hpp). Between nodes nobody can ask all ranks at once, and none waits. So:
//
//   1. an order comes to some server, and goes with its next contribution to the rounds of iterations
//   2. the outcome has it on all servers: they propose the value to their ranks, for the iteration that lies `lead`
//      behind the furthest rank of the run, as the outcome says
//   3. each votes, with its next contribution, whether its ranks are well before that iteration: half of the iterations that
//      they do in two seconds, at the pace that they have now
//   4. all know all votes by the same outcome. All are for it: each server commits. Else all withdraw it, and propose it
//      anew with the lead that some server needs, or twice the last one, up to a limit
//
// A rank that comes to the iteration between 3 and 4 goes on without the value. A second is left at 3, so this takes a server
// that is stopped just then; it gives its ranks the value as soon as it can, and says so.
class RunSteering {
 public:
  RunSteering(const Run& run, Parameters& parameters, SessionJournal& journal)
      : run_(run), parameters_(parameters), journal_(journal) {}

  /// "", or why it is refused.
  std::string request(const SteeringRequest& request);

  /// What this server adds to its next contribution.
  void add_to(RunWords* words) const;
  /// It has made it.
  void contributed();
  /// `words`: of all that had something to say, by server. `latest`: the furthest iteration that a rank of the run is in.
  void take(const std::vector<std::pair<comm::Rank, RunWords>>& words, const comm::Outcome& outcome,
            std::int64_t latest);
  /// What is not decided when no iteration follows.
  std::vector<std::string> undecided() const;
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

  // Recovery where a server has died
  void apply(const RunOrderReceived& record) { orders_.push_back(record.order); }
  void apply(const RunSteeringSnapshot& record);
  RunSteeringSnapshot snapshot() const {
    return {orders_, proposals_, votes_, next_, effective_, ended_.ranks()};
  }
  /// From here on ranks are told.
  void start();

 private:
  void propose(RunProposal* proposal, const comm::RankSet& voters, std::int64_t latest);
  void decide(RunProposal* proposal, const comm::RankSet& voters, std::int64_t latest);
  void set_late(const RunProposal& proposal);
  void measure_pace(std::int64_t latest);
  std::int64_t lead_at_this_pace() const;

  const Run& run_;
  Parameters& parameters_;
  SessionJournal& journal_;
  std::vector<RunOrder> orders_;        // of this server
  std::vector<RunProposal> proposals_;  // the same on all servers, one of a parameter at a time
  std::vector<std::pair<std::int64_t, std::int64_t>> votes_;  // of this server, not contributed
  std::vector<RunProposal>
      decided_;  // while it is not live: has the server before this one done it?
  std::int64_t next_ = 0;
  std::map<std::string, std::int64_t> effective_;  // by parameter: where the last value holds from
  comm::RankSet ended_;
  bool is_live_ = false, knows_pace_ = false;
  double pace_ = 0;  // iterations in a second
  std::int64_t since_ns_ = 0, since_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace leat::server

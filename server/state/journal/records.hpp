// SPDX-License-Identifier: Apache-2.0
// What the journal of a session consists of: a struct for each thing that a successor of a killed server has to know, and
// that it cannot see in the segment. Each is appended in the step in which it takes effect, and applied again, in the same
// order, by the successor; `...Snapshot` stands for all that was appended before, in a journal that was rewritten. How
// they are written is in records.cpp alone.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/scalar.hpp"

namespace leat::server {

// ---- events of the XML, by their numbers in the model; docs/design/group.md draws their states ----

/// An event that happens in an iteration.
struct Signal {
  std::uint32_t event = 0;
  std::int32_t rank = -1;   ///< that has signalled it; -1: all have, or somebody outside
  std::uint32_t times = 1;  ///< in a row
  bool operator==(const Signal&) const = default;
};
/// As [event, rank, times]: in the journal, and to workers.
void to_json(nlohmann::json& to, const Signal& signal);
void from_json(const nlohmann::json& from, Signal& signal);

/// A rank has signalled an event, and nothing follows from it yet.
struct PendingSignal {
  std::int64_t iteration = 0;
  std::uint32_t client = 0, event = 0, times = 1;
  bool operator==(const PendingSignal&) const = default;
};

/// An event that happens in the next iteration after this one, whichever that is.
struct ReadySignal {
  Signal signal;
  std::int64_t after = -1;
  bool operator==(const ReadySignal&) const = default;
};

using CountsByClient = std::vector<std::vector<std::int64_t>>;  ///< by event and client

struct SignalReceived {
  PendingSignal signal;
  std::uint64_t number =
      0;  ///< of the event in the client's ring: not counted as taken before this
};
/// By `leat ctl signal`: happens in the next iteration.
struct SignalRequested {
  std::uint32_t event = 0;
};
/// Of this iteration it is known for good what happens in it.
struct SignalsDecided {
  std::int64_t iteration = 0;
  std::vector<Signal> signals;
  std::vector<std::int64_t> happened;  ///< by event: how often so far
};
/// The iteration was dropped after that: its events happen in the next one.
struct SignalsDeferred {
  std::int64_t iteration = 0;
};
/// The same of events of the whole run, which the servers had agreed on too late for this one.
struct RunSignalsDeferred {
  std::int64_t iteration = 0;
};
struct SignalsSnapshot {
  std::vector<PendingSignal> pending;
  std::vector<ReadySignal> ready;
  CountsByClient counts;
  std::vector<std::int64_t> happened;
  std::map<std::int64_t, std::vector<Signal>> decided;
};

/// How often an event of the whole run has happened by the calls of ranks, and by requests.
struct RunEventCount {
  std::int64_t by_ranks = 0, by_request = 0;
  bool operator==(const RunEventCount&) const = default;
};
struct RunIterationsSnapshot {
  std::vector<PendingSignal> pending;
  CountsByClient counts;
  std::vector<std::int64_t> requested;  ///< by event
  std::int64_t reported = -1;           ///< iteration
  std::int64_t next = 0;                ///< that has no outcome
  std::vector<RunEventCount> happened;
  std::map<std::int64_t, std::vector<std::int64_t>> agreed;  ///< by iteration: times, by event
};

// ---- operations of all servers of the run; their bytes are those of lib/comm/message.hpp ----

/// By this server, before another one has it.
struct RoundContributed {
  std::string partial;
};
/// Before it takes effect here.
struct RoundOutcome {
  std::string outcome;
};
/// Who takes part, as known to this server; before any outcome that comes of it.
struct RunView {
  std::string view;       ///< of a message Up
  std::string why_alone;  ///< ""
};
struct RunRoundsSnapshot {
  std::int64_t restarts = 0;  ///< so many servers were here before this one
  RunView view;
  std::vector<std::pair<std::uint64_t, std::int64_t>>
      over;                             ///< by channel: last round that has an outcome
  std::int64_t known = 0;               ///< the last outcome
  std::vector<std::string> outcomes;    ///< that other servers may need
  std::vector<std::string> reductions;  ///< outcomes that somebody may ask for again
  std::vector<std::string> open;        ///< contributions without an outcome
};

// ---- steering of the run ----

/// A parameter is to have this value on all ranks of the run.
struct RunOrder {
  std::string parameter;
  ParameterValue value;
  std::string who;
  std::int64_t lead = 2;  ///< iterations between the ranks and the one that it is to hold from
};
/// What a server has to say in a round beside numbers.
struct RunWords {
  std::string dropped;  ///< its name, when it has dropped the iteration
  std::vector<RunOrder> orders;
  /// By proposal: 0, its ranks can have it; or the lead that they would need, -1: it is not known yet.
  std::vector<std::pair<std::int64_t, std::int64_t>> votes;
  bool ends = false;  ///< none of its ranks is left
  bool empty() const noexcept {
    return dropped.empty() && orders.empty() && votes.empty() && !ends;
  }
};
std::string bytes_of(const RunWords& words);
std::optional<RunWords> run_words_in(std::string_view bytes);

/// An order of RunOrder that all servers have got, and have yet to decide on.
struct RunProposal {
  std::int64_t number = 0;
  RunOrder order{};
  bool is_shown = false;       ///< to the ranks: else it waits until all have the last value
  std::int64_t effective = 0;  ///< iteration
  std::vector<std::int32_t> awaited{}, refused{};  ///< servers
  std::int64_t wanted = 0;  ///< the largest lead of those who have refused it
};
/// Somebody has asked this server for it.
struct RunOrderReceived {
  RunOrder order;
};
struct RunSteeringSnapshot {
  std::vector<RunOrder> orders;  ///< of this server, that the others have yet to get
  std::vector<RunProposal> proposals;
  std::vector<std::pair<std::int64_t, std::int64_t>>
      votes;  ///< of this server, that the others have yet to get
  std::int64_t next = 0;
  std::map<std::string, std::int64_t> effective;  ///< by parameter: where the last value holds from
  std::vector<std::int32_t> ended;                ///< servers without ranks: they have no vote
};

/// How the servers of the run meet; the last one holds.
struct ServersMet {
  std::string
      own;  ///< offer of this server, with a credential: a secret. Before anybody else has it
  std::string offers;  ///< of all of them, once they have met
  std::string
      why;  ///< "": not yet, or by whom they have met; or why this one goes on without the others
};

// ---- parameters, by their numbers in the model ----

/// By the node's first rank.
struct ParameterSet {
  std::uint32_t parameter = 0;
  ParameterValue value;
};
/// By any rank, with the number of its event.
struct IntegerSet {
  std::uint32_t client = 0;
  std::uint64_t event = 0;
  std::uint32_t parameter = 0;
  std::int64_t value = 0;
};
/// The node's first rank has ended it.
struct IterationEnded {
  std::int64_t iteration = 0;
};
/// From this iteration on.
struct ParameterSteered {
  std::int64_t iteration = 0;
  std::uint32_t parameter = 0;
  ParameterValue value;
};
struct ParametersSnapshot {
  std::int64_t last_ended = -1;
  std::vector<ParameterValue> now;
  std::map<std::int64_t, std::vector<ParameterValue>> ended;  ///< by iteration
};

// ---- the rest ----

/// A line of the ledger that says what was lost or dropped.
struct LossNoted {
  std::string line;
};
struct IterationsDropped {
  std::vector<std::int64_t> iterations;
};
/// Ranks of this node that other servers serve, by their numbers on the node, have come.
struct OtherRanksCame {
  std::vector<std::int32_t> ranks;
};
/// The first iteration of a rank has this number.
struct RankBegan {
  std::uint32_t client = 0;
  std::int64_t iteration = 0;
};
/// What must be in a spill file, and whose it is when it is not.
struct SpillRecord {
  struct One {
    std::uint32_t client = 0;
    std::int32_t rank = 0;
    std::uint32_t variable = 0, block = 0;
    std::uint64_t bytes = 0;
    std::uint32_t checksum = 0;  ///< CRC-32C of the data
    bool operator==(const One&) const = default;
  };
  std::int64_t iteration = 0;
  std::string file;                 ///< its name in the folder
  std::uint32_t head_checksum = 0;  ///< CRC-32C of all in front of the data
  std::vector<One> blocks{};        ///< in the order of the file
  bool operator==(const SpillRecord&) const = default;
};

using JournalRecord =
    std::variant<SignalReceived, SignalRequested, SignalsDecided, SignalsDeferred,
                 RunSignalsDeferred, SignalsSnapshot, RunIterationsSnapshot, RoundContributed,
                 RoundOutcome, RunView, RunRoundsSnapshot, RunOrderReceived, RunSteeringSnapshot,
                 ServersMet, ParameterSet, IntegerSet, IterationEnded, ParameterSteered,
                 ParametersSnapshot, LossNoted, IterationsDropped, OtherRanksCame, SpillRecord,
                 RankBegan>;

/// As bytes of a journal. Texts may hold any bytes.
std::string encode(const JournalRecord& record);
/// Nothing for what is no record.
std::optional<JournalRecord> decode_record(std::string_view bytes);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Values of parameters: at each iteration, and now.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/state/clients/clients.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/parameters/differing.hpp"
#include "server/state/parameters/steering.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// Values of parameters at each iteration, as the node's first rank had them when it ended it: ranks
// may be ahead of what is being analysed.
class ParameterLog {
 public:
  explicit ParameterLog(const model::Model& model);

  // What happens, and what a server that takes over repeats of it
  void apply(const ParameterSet& record);
  /// And all before it. Nothing when this one, or a later one, was applied before.
  void apply(const IterationEnded& record);
  /// No rank is in its iteration yet.
  void apply(const ParameterSteered& record);
  void apply(const ParametersSnapshot& record);
  std::vector<JournalRecord> snapshot() const;
  /// Nothing when there is no such parameter.
  std::optional<ParameterSteered> steered(const AuditEntry& entry) const;

  std::int64_t last_ended() const noexcept { return last_ended_; }
  bool differs(std::uint32_t parameter, const ParameterValue& value) const {
    return parameter < now_.size() && now_[parameter] != value;
  }
  /// Of this iteration. The latest when the rank has not come so far.
  std::vector<ParameterValue> at(std::int64_t iteration) const;
  /// Nobody asks for this iteration any more, nor for those before it.
  void forget(std::int64_t iteration);

 private:
  const model::Model& model_;
  std::int64_t last_ended_ = -1;
  std::multimap<std::int64_t, ParameterSteered> steered_;  // by the iteration that it begins in
  std::vector<ParameterValue> now_;
  std::map<std::int64_t, std::vector<ParameterValue>> ended_;
};

// Values of parameters: what ranks have set, what is steered, and what a server that takes over
// must know of both. Private to the engine's thread.
class Parameters {
 public:
  Parameters(const Run& run, Clients& clients, SessionJournal& journal);

  /// A rank has set one in its iteration.
  void set(std::uint32_t client, std::int64_t iteration, std::uint32_t parameter,
           ParameterValue value);
  /// By the node's first rank.
  void iteration_ended(std::int64_t iteration);
  /// Of this iteration, as the first rank had them.
  std::vector<ParameterValue> at(std::int64_t iteration) const { return log_.at(iteration); }
  /// And what ranks have set differently until then though all get one value.
  std::vector<Finding> forget(std::int64_t iteration) {
    log_.forget(iteration);
    return differing_.ended(iteration);
  }
  /// `iteration`: the one it was in; no value holds from that one or an earlier one on.
  void client_gone(std::uint32_t client, std::int64_t iteration) {
    steering_.client_gone(client, iteration);
  }

  /// "", or why it is refused.
  std::string steer(const SteeringRequest& request) {
    return steering_.set(request.parameter, request.value, request.who);
  }
  Steering& steering() noexcept { return steering_; }
  /// Publishes what can be; what has been decided since the last call, each with its iteration.
  std::vector<AuditEntry> advance();

  // Recovery where a server has died
  void apply(const ParameterSet& record) { log_.apply(record); }
  void apply(const IterationEnded& record) { log_.apply(record); }
  void apply(const ParameterSteered& record) { log_.apply(record); }
  void apply(const ParametersSnapshot& record) { log_.apply(record); }
  void apply(const IntegerSet& record);
  void take_over();
  /// What a successor needs, for a journal that is rewritten.
  std::vector<JournalRecord> snapshot() const;

 private:
  const Run& run_;
  Clients& clients_;
  SessionJournal& journal_;
  Steering steering_;
  ParameterLog log_;
  DifferingParameters differing_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Values of parameters: what ranks have set, what is steered, and what a server that takes over
// must know of both. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/session/clients.hpp"
#include "server/session/parameter_log.hpp"
#include "server/session/run.hpp"
#include "server/session/session_journal.hpp"
#include "server/session/steering.hpp"

namespace leat::server {

class Parameters {
 public:
  Parameters(const Run& run, Clients& clients, SessionJournal& journal);

  /// A rank has set one.
  void set(std::uint32_t client, std::uint32_t parameter, ParameterValue value);
  /// By the node's first rank.
  void iteration_ended(std::int64_t iteration);
  /// Of this iteration, as the first rank had them.
  std::vector<ParameterValue> at(std::int64_t iteration) const { return log_.at(iteration); }
  void forget(std::int64_t iteration) { log_.forget(iteration); }
  /// `iteration`: the one it was in; no value holds from that one or an earlier one on.
  void client_gone(std::uint32_t client, std::int64_t iteration) {
    steering_.client_gone(client, iteration);
  }

  /// "", or why it is refused.
  std::string steer(const SteeringRequest& request) {
    if (!request.of_node && !run_.facts.has_all_ranks())
      return "this run has several servers, and each would give its own ranks the value from an "
             "iteration of its own on; scope \"node\" is for those who mean that";
    return steering_.set(request.parameter, request.value, request.who);
  }
  /// Publishes what can be; what has been decided since the last call, each with its iteration.
  std::vector<AuditEntry> advance();

  // Going on where a server has died
  void take_entry(const nlohmann::json& entry) { log_.take_entry(entry); }
  void take_integer(std::uint32_t client, const nlohmann::json& entry);
  void take_over();
  /// What a successor needs, for a journal that is written anew.
  std::vector<nlohmann::json> entries() const;

 private:
  const Run& run_;
  Clients& clients_;
  SessionJournal& journal_;
  Steering steering_;
  ParameterLog log_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/session/parameters.hpp"

#include <utility>
#include <variant>

namespace leat::server {

using nlohmann::json;

namespace {

json integer_entry(std::uint32_t client, const ClientIntegers::Change& change) {
  return {{"client", client},
          {"integer", change.parameter},
          {"value", change.value},
          {"event", change.event}};
}

}  // namespace

Parameters::Parameters(const Run& run, Clients& clients, SessionJournal& journal)
    : run_(run),
      clients_(clients),
      journal_(journal),
      steering_(run.model, run.segment),
      log_(run.model) {}

void Parameters::set(std::uint32_t client, std::uint32_t parameter, ParameterValue value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    const ClientIntegers::Change change{clients_[client].saved().events + 1, parameter, *integer};
    if (clients_[client].blocks().integers().set(change))
      journal_.note(integer_entry(client, change));
  }
  if (client != 0) return;
  steering_.was_set(parameter, value, log_.last_ended() + 1);
  if (!log_.differs(parameter, value)) return;
  journal_.note(ParameterLog::set_entry(parameter, value));
  log_.set(parameter, std::move(value));
}

void Parameters::iteration_ended(std::int64_t iteration) {
  if (run_.model.parameters.empty()) return;
  journal_.note(ParameterLog::ended_entry(iteration));
  log_.iteration_ended(iteration);
  steering_.iteration_ended(log_.last_ended());
}

std::vector<AuditEntry> Parameters::advance() {
  steering_.advance();
  std::vector<AuditEntry> decided;
  for (AuditEntry& entry : steering_.take_audit()) {
    if (entry.iteration == AuditEntry::kNever) continue;
    journal_.note(ParameterLog::steered_entry(entry.iteration, entry.parameter, entry.new_value));
    log_.steer(entry.iteration, entry.parameter, entry.new_value);
    decided.push_back(std::move(entry));
  }
  return decided;
}

void Parameters::take_integer(std::uint32_t client, const json& entry) {
  if (client < clients_.size())
    clients_[client].blocks().integers().set(
        {entry.value("event", std::uint64_t{0}), entry["integer"], entry["value"]});
}

void Parameters::take_over() {
  steering_.take_over();
  for (const AuditEntry& entry : steering_.committed())
    log_.steer(entry.iteration, entry.parameter, entry.new_value);
}

std::vector<json> Parameters::entries() const {
  std::vector<json> all = log_.entries();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    for (const ClientIntegers::Change& each : clients_[i].blocks().integers().changes())
      all.push_back(integer_entry(i, each));
  }
  return all;
}

}  // namespace leat::server

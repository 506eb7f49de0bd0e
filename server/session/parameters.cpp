// SPDX-License-Identifier: Apache-2.0
#include "server/session/parameters.hpp"

#include <utility>
#include <variant>

namespace leat::server {

using nlohmann::json;

Parameters::Parameters(const Run& run, Clients& clients, SessionJournal& journal)
    : run_(run),
      clients_(clients),
      journal_(journal),
      steering_(run.model, run.segment),
      log_(run.model) {}

void Parameters::set(std::uint32_t client, std::uint32_t parameter, ParameterValue value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (clients_[client].blocks().set_integer(parameter, *integer))
      journal_.note({{"client", client}, {"integer", parameter}, {"value", *integer}});
  }
  if (client != 0 || !log_.differs(parameter, value)) return;
  journal_.note(ParameterLog::set_entry(parameter, value));
  log_.set(parameter, std::move(value));
}

void Parameters::iteration_ended(std::int64_t iteration) {
  if (run_.model.parameters.empty()) return;
  journal_.note(ParameterLog::ended_entry(iteration));
  log_.iteration_ended(iteration);
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
    clients_[client].blocks().set_integer(entry["integer"], entry["value"]);
}

void Parameters::take_over() {
  steering_.take_over();
  for (const AuditEntry& entry : steering_.committed())
    log_.steer(entry.iteration, entry.parameter, entry.new_value);
}

std::vector<json> Parameters::entries() const {
  std::vector<json> all = log_.entries();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    for (const auto& [parameter, value] : clients_[i].blocks().integers())
      all.push_back({{"client", i}, {"integer", parameter}, {"value", value}});
  }
  return all;
}

}  // namespace leat::server

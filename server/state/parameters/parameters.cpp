// SPDX-License-Identifier: Apache-2.0
#include "server/state/parameters/parameters.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

namespace leat::server {
namespace {

// A first rank that is further ahead than this has lost its mind; of iterations before those the
// latest values are told.
constexpr std::size_t kMostAhead = std::size_t{1} << 16;

using nlohmann::json;

// A real number goes by its bits: JSON has no NaN.
json entry_of(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return {{"int", *integer}};
  if (const auto* real = std::get_if<double>(&value))
    return {{"real", std::bit_cast<std::uint64_t>(*real)}};
  if (const auto* text = std::get_if<std::string>(&value)) return {{"text", *text}};
  return json::object();
}

ParameterValue value_of(const json& entry) {
  if (entry.contains("int")) return entry["int"].get<std::int64_t>();
  if (entry.contains("real")) return std::bit_cast<double>(entry["real"].get<std::uint64_t>());
  if (entry.contains("text")) return entry["text"].get<std::string>();
  return {};
}

json entry_of(const std::vector<ParameterValue>& values) {
  json all = json::array();
  for (const ParameterValue& value : values) all.push_back(entry_of(value));
  return all;
}

std::vector<ParameterValue> values_of(const json& entries) {
  std::vector<ParameterValue> all;
  for (const json& entry : entries) all.push_back(value_of(entry));
  return all;
}

bool fits(const ParameterValue& value, model::Parameter::Kind kind) {
  switch (kind) {
    case model::Parameter::Kind::integer:
      return std::holds_alternative<std::int64_t>(value);
    case model::Parameter::Kind::real:
      return std::holds_alternative<double>(value);
    case model::Parameter::Kind::text:
      return std::holds_alternative<std::string>(value);
  }
  return false;
}

}  // namespace

ParameterLog::ParameterLog(const model::Model& model) : model_(model) {
  for (const model::Parameter& each : model.parameters) now_.push_back(each.value);
}

void ParameterLog::set(std::uint32_t parameter, ParameterValue value) {
  if (parameter < now_.size() && fits(value, model_.parameters[parameter].kind))
    now_[parameter] = std::move(value);
}

void ParameterLog::steer(std::int64_t iteration, const std::string& parameter,
                         const std::string& value) {
  std::uint32_t i = 0;
  while (i < now_.size() && model_.parameters[i].name != parameter) ++i;
  if (i == now_.size()) return;
  switch (model_.parameters[i].kind) {
    case model::Parameter::Kind::integer:
      return add_steered(iteration, i, std::int64_t{std::strtoll(value.c_str(), nullptr, 10)});
    case model::Parameter::Kind::real:
      return add_steered(iteration, i, std::strtod(value.c_str(), nullptr));
    case model::Parameter::Kind::text:
      return add_steered(iteration, i, value);
  }
}

// Once, also when a server that took over is told again.
void ParameterLog::add_steered(std::int64_t iteration, std::uint32_t parameter,
                               ParameterValue value) {
  const auto [first, last] = steered_.equal_range(iteration);
  const bool known = std::any_of(
      first, last, [&](const auto& each) { return each.second.parameter == parameter; });
  if (!known && iteration > last_ended_)
    steered_.insert({iteration, {parameter, std::move(value)}});
}

json ParameterLog::set_entry(std::uint32_t parameter, const ParameterValue& value) {
  return {{"set", parameter}, {"value", entry_of(value)}};
}

json ParameterLog::ended_entry(std::int64_t iteration) { return {{"ended", iteration}}; }

json ParameterLog::steered_entry(std::int64_t iteration, const std::string& parameter,
                                 const std::string& value) {
  return {{"steered", iteration}, {"parameter", parameter}, {"text", value}};
}

std::vector<json> ParameterLog::entries() const {
  std::vector<json> all;
  all.push_back({{"now", entry_of(now_)}, {"last_ended", last_ended_}});
  for (const auto& [iteration, values] : ended_)
    all.push_back({{"was", iteration}, {"values", entry_of(values)}});
  for (const auto& [iteration, steered] : steered_)
    all.push_back({{"will_be", iteration},
                   {"parameter", steered.parameter},
                   {"value", entry_of(steered.value)}});
  return all;
}

void ParameterLog::take_entry(const json& entry) {
  if (entry.contains("now")) {
    now_ = values_of(entry["now"]);
    last_ended_ = entry["last_ended"];
  } else if (entry.contains("was")) {
    ended_[entry["was"]] = values_of(entry["values"]);
  } else if (entry.contains("will_be")) {
    add_steered(entry["will_be"], entry["parameter"], value_of(entry["value"]));
  } else if (entry.contains("set")) {
    set(entry["set"], value_of(entry["value"]));
  } else if (entry.contains("ended")) {
    iteration_ended(entry["ended"]);
  } else if (entry.contains("steered")) {
    steer(entry["steered"], entry["parameter"], entry["text"]);
  }
}

void ParameterLog::iteration_ended(std::int64_t iteration) {
  if (now_.empty() || iteration <= last_ended_) return;
  last_ended_ = iteration;
  ended_[iteration] = now_;
  if (ended_.size() > kMostAhead) ended_.erase(ended_.begin());
  const auto begun = iteration == INT64_MAX ? steered_.end() : steered_.upper_bound(iteration + 1);
  for (auto each = steered_.begin(); each != begun; ++each)
    now_[each->second.parameter] = each->second.value;
  steered_.erase(steered_.begin(), begun);
}

std::vector<ParameterValue> ParameterLog::at(std::int64_t iteration) const {
  const auto found = ended_.lower_bound(iteration);
  return found == ended_.end() ? now_ : found->second;
}

void ParameterLog::forget(std::int64_t iteration) {
  ended_.erase(ended_.begin(), ended_.upper_bound(iteration));
}

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

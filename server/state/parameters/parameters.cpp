// SPDX-License-Identifier: Apache-2.0
#include "server/state/parameters/parameters.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

namespace leat::server {
namespace {

// Values of so many iterations are stored; of earlier ones the oldest stored values stand.
constexpr std::size_t kMostAhead = std::size_t{1} << 16;

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

IntegerSet integer_record(std::uint32_t client, const ClientIntegers::Change& change) {
  return {client, change.event, change.parameter, change.value};
}

}  // namespace

ParameterLog::ParameterLog(const model::Model& model) : model_(model) {
  for (const model::Parameter& each : model.parameters) now_.push_back(each.value);
}

void ParameterLog::apply(const ParameterSet& record) {
  if (record.parameter < now_.size() &&
      fits(record.value, model_.parameters[record.parameter].kind))
    now_[record.parameter] = record.value;
}

std::optional<ParameterSteered> ParameterLog::steered(const AuditEntry& entry) const {
  std::uint32_t i = 0;
  while (i < now_.size() && model_.parameters[i].name != entry.parameter) ++i;
  if (i == now_.size()) return std::nullopt;
  const char* const text = entry.new_value.c_str();
  switch (model_.parameters[i].kind) {
    case model::Parameter::Kind::integer:
      return ParameterSteered{entry.iteration, i, std::int64_t{std::strtoll(text, nullptr, 10)}};
    case model::Parameter::Kind::real:
      return ParameterSteered{entry.iteration, i, std::strtod(text, nullptr)};
    case model::Parameter::Kind::text:
      return ParameterSteered{entry.iteration, i, entry.new_value};
  }
  return std::nullopt;
}

// Once, also when a server that took over is told again.
void ParameterLog::apply(const ParameterSteered& record) {
  const auto [first, last] = steered_.equal_range(record.iteration);
  const bool known = std::any_of(
      first, last, [&](const auto& each) { return each.second.parameter == record.parameter; });
  if (!known && record.iteration > last_ended_ && record.parameter < now_.size())
    steered_.insert({record.iteration, record});
}

void ParameterLog::apply(const ParametersSnapshot& record) {
  last_ended_ = record.last_ended;
  now_ = record.now;
  ended_ = record.ended;
}

std::vector<JournalRecord> ParameterLog::snapshot() const {
  std::vector<JournalRecord> all{ParametersSnapshot{last_ended_, now_, ended_}};
  for (const auto& [iteration, steered] : steered_) all.emplace_back(steered);
  return all;
}

void ParameterLog::apply(const IterationEnded& record) {
  const std::int64_t iteration = record.iteration;
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

Parameters::Parameters(const Run& run, Clients& clients, SessionJournal& journal)
    : run_(run),
      clients_(clients),
      journal_(journal),
      steering_(run.model, run.segment),
      log_(run.model),
      differing_(run.model) {}

void Parameters::set(std::uint32_t client, std::int64_t iteration, std::uint32_t parameter,
                     ParameterValue value) {
  differing_.note(iteration, clients_[client].rank(), parameter, value);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    const ClientIntegers::Change change{clients_[client].saved().events + 1, parameter, *integer};
    if (clients_[client].blocks().integers().set(change))
      journal_.append(integer_record(client, change));
  }
  if (client != 0) return;
  steering_.was_set(parameter, value, log_.last_ended() + 1);
  if (!log_.differs(parameter, value)) return;
  const ParameterSet record{parameter, std::move(value)};
  journal_.append(record);
  log_.apply(record);
}

void Parameters::iteration_ended(std::int64_t iteration) {
  if (run_.model.parameters.empty()) return;
  const IterationEnded record{iteration};
  journal_.append(record);
  log_.apply(record);
  steering_.iteration_ended(log_.last_ended());
}

std::vector<AuditEntry> Parameters::advance() {
  steering_.advance();
  std::vector<AuditEntry> decided;
  for (AuditEntry& entry : steering_.take_audit()) {
    if (entry.iteration == AuditEntry::kNever) continue;
    if (const std::optional<ParameterSteered> record = log_.steered(entry)) {
      journal_.append(*record);
      log_.apply(*record);
    }
    decided.push_back(std::move(entry));
  }
  return decided;
}

void Parameters::apply(const IntegerSet& record) {
  if (record.client < clients_.size())
    clients_[record.client].blocks().integers().set({record.event, record.parameter, record.value});
}

void Parameters::take_over() {
  steering_.take_over();
  for (const AuditEntry& entry : steering_.committed())
    if (const std::optional<ParameterSteered> record = log_.steered(entry)) log_.apply(*record);
}

std::vector<JournalRecord> Parameters::snapshot() const {
  std::vector<JournalRecord> all = log_.snapshot();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    for (const ClientIntegers::Change& each : clients_[i].blocks().integers().changes())
      all.emplace_back(integer_record(i, each));
  }
  return all;
}

}  // namespace leat::server

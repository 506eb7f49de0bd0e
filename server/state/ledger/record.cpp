// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/record.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "server/state/ledger/loss_table.hpp"
#include "server/state/run.hpp"

namespace leat::server {
namespace {

// <time> names a parameter that had no value when the iteration ended.
std::optional<Finding> time_not_set(const model::Model& model, const PipelineResult& result) {
  const auto* const iteration = std::get_if<Iteration>(&result.work);
  if (result.kind != PipelineResult::Kind::iteration || !iteration) return {};
  if (!model.time || model.time->parameter >= iteration->parameters.size()) return {};
  const ParameterValue& time = iteration->parameters[model.time->parameter];
  if (is_set(time)) return {};
  const std::string& name = model.parameters[model.time->parameter].name;
  return Finding{
      "time", Ledger::kUnknownName, iteration->number,
      fmt::format("the time of the simulation, parameter \"{}\", has no value, and files count "
                  "iterations instead: call leat_set_double(\"{}\", ...) before each "
                  "leat_end_iteration, or take <time parameter=\"{}\"/> out of the XML",
                  name, name, name)};
}

}  // namespace

Record::Record(const Run& run, Clients& clients, SessionJournal& journal)
    : run_(run),
      clients_(clients),
      journal_(journal),
      ledger_(names_of(run.model, run.facts)),
      file_(ledger_.table().names(), run.folder) {
  ledger_.persist_with([this](const std::string& line) { note_loss(line); });
}

void Record::open() {
  if (is_open_) return;
  is_open_ = true;
  if (const std::string note = file_.start(ledger_, run_.executor); !note.empty())
    run_.log->warn("{}", note);
}

void Record::rank_came() {
  if (!run_.facts.has_all_ranks()) ledger_.serves(clients_.known_ranks());
}

void Record::settled(PipelineResult& result) {
  for (const BlockProblem& problem : result.problems) report(problem, result.iteration);
  if (std::optional<Finding> time = time_not_set(run_.model, result))
    result.findings.push_back(std::move(*time));
  report(result.findings);
  // What was taken out is in no store.
  if (!result.problems.empty()) ledger_.handed_over(std::get<Iteration>(result.work));
  ledger_.settled(result);
}

void Record::report(const BlockProblem& problem, std::int64_t iteration) {
  const std::string& name = run_.model.variables[problem.variable].name;
  // Of what the run before had of more ranks there is none.
  clients_.complain(std::min<std::uint32_t>(problem.client, clients_.size() - 1),
                    fmt::format("\"{}\" of iteration {}: {}", name, iteration, problem.what));
  ledger_.write_failed(problem.rank, problem.variable, iteration, problem.what, problem.bytes);
}

// Each once. A hole that a write which failed has left is said to be a loss already.
void Record::report(const std::vector<Finding>& findings) {
  std::size_t said = 0;
  for (const Finding& each : findings) {
    if (ledger_.has_failed(each.variable, each.iteration)) continue;
    if (!ledger_.incidents().warn(each.what, each.variable, each.iteration, each.text)) continue;
    if (++said <= kMostNamed) run_.log->warn("iteration {}: {}", each.iteration, each.text);
  }
  if (said > kMostNamed)
    run_.log->warn("... and {} variables more, see {}", said - kMostNamed, file_.name());
}

void Record::scripts_fared(std::uint64_t trouble,
                           const std::function<std::map<std::string, ScriptFate>()>& fates) {
  if (trouble == script_trouble_) return;
  script_trouble_ = trouble;
  for (const auto& [name, fate] : fates()) ledger_.incidents().script_fared(name, fate);
}

void Record::publish(const std::map<std::string, ScriptFate>& scripts) {
  for (const auto& [name, fate] : scripts) ledger_.incidents().script_fared(name, fate);
  file_.publish(ledger_, "closing");
}

std::string Record::finish(std::size_t most) {
  if (const std::string why = file_.finish(ledger_); !why.empty()) run_.log->warn("{}", why);
  ledger_.settle_failures();
  return loss_table(ledger_, file_.name(), most);
}

void Record::note_loss(const std::string& line) {
  journal_.append(LossNoted{line});
  losses_.push_back(line);
}

void Record::apply(const LossNoted& record) {
  losses_.push_back(record.line);
  ledger_.restore(losses_.back());
}

std::vector<JournalRecord> Record::snapshot() const {
  std::vector<JournalRecord> all;
  for (const std::string& line : losses_) all.emplace_back(LossNoted{line});
  return all;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/script.hpp"

#include <algorithm>
#include <utility>

namespace leat::server {
namespace {

// A quick script sees all of a short run; a slow one does not hold up the end of the run for long.
constexpr std::int64_t kCatchUpNs = 5'000'000'000;

}  // namespace

bool ScriptFunction::wants(std::uint32_t variable) const {
  const auto has = [variable](const std::vector<std::uint32_t>& list) {
    return std::find(list.begin(), list.end(), variable) != list.end();
  };
  return all_variables || has(variables) || has(beside);
}

bool ScriptFunction::is_due(const WrittenVariables& iteration) const {
  if (iteration.number % every != 0) return false;
  return all_variables ||
         std::all_of(variables.begin(), variables.end(), [&](std::uint32_t variable) {
           return std::binary_search(iteration.variables.begin(), iteration.variables.end(),
                                     variable);
         });
}

WrittenVariables written_in(const Iteration& iteration) {
  WrittenVariables written{iteration.number, {}};
  for (const auto& [variable, pin] : iteration.pins) written.variables.push_back(variable);
  std::sort(written.variables.begin(), written.variables.end());
  return written;
}

bool Script::may_want(const WrittenVariables& iteration) const {
  if (removed) return false;
  if (unknown()) return true;
  return usable && std::any_of(functions.begin(), functions.end(),
                               [&](const ScriptFunction& f) { return f.is_due(iteration); });
}

std::shared_ptr<const Iteration> Script::part_of(const Iteration& iteration) const {
  auto part = std::make_shared<Iteration>();
  part->number = iteration.number;
  part->complete = iteration.complete;
  part->parameters = iteration.parameters;
  const WrittenVariables written = written_in(iteration);
  const auto wanted = [&](std::uint32_t variable) {
    return unknown() ||
           std::any_of(functions.begin(), functions.end(), [&](const ScriptFunction& function) {
             return function.is_due(written) && function.wants(variable);
           });
  };
  for (const auto& [variable, pin] : iteration.pins) {
    if (wanted(variable)) part->pins.emplace(variable, pin);
  }
  for (const Block& block : iteration.blocks) {
    if (part->pins.count(block.variable)) part->blocks.push_back(block);
  }
  return part;
}

void Script::add(std::shared_ptr<const Iteration> part) {
  if (!source->waits && !unknown() && !waiting.empty() && !waiting.back().early) {
    leave_out(written_in(*waiting.back().iteration));
    waiting.pop_back();
  }
  waiting.push_back({std::move(part), unknown()});
}

void Script::leave_out(const WrittenVariables& iteration) {
  if (removed) return;
  if (unknown()) {
    unjudged.push_back(iteration);
  } else if (functions.empty() ||
             std::any_of(functions.begin(), functions.end(),
                         [&](const ScriptFunction& f) { return f.is_due(iteration); })) {
    ++counts.skipped;
  }
}

void Script::is_known(std::int64_t now_ns) {
  for (const WrittenVariables& iteration : std::exchange(unjudged, {})) leave_out(iteration);
  std::erase_if(waiting, [&](const ScriptJob& job) {
    return job.early && !may_want(written_in(*job.iteration));
  });
  // Once: a script that takes its process along each time would catch up for ever.
  const bool has_early = !waiting.empty() && waiting.front().early;
  if (has_early && backlog_until_ns == 0) backlog_until_ns = now_ns + kCatchUpNs;
}

void Script::leave_backlog(std::int64_t now_ns) {
  if (source->waits || backlog_until_ns == 0 || now_ns < backlog_until_ns) return;
  backlog_until_ns = 0;
  while (waiting.size() > 1) {
    leave_out(written_in(*waiting.front().iteration));
    waiting.pop_front();
  }
}

void Script::drop_waiting() {
  for (const ScriptJob& job : waiting) leave_out(written_in(*job.iteration));
  waiting.clear();
}

void Script::note_failure(const std::string& why) {
  ++counts.failed;
  if (counts.first_error.empty()) counts.first_error = why;
}

void Script::give_up() {
  usable = must_load = false;
  drop_waiting();
}

}  // namespace leat::server

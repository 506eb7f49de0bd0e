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
  return all_variables ||
         std::find(variables.begin(), variables.end(), variable) != variables.end();
}

bool ScriptFunction::is_due(const Iteration& iteration) const {
  if (iteration.number % every != 0) return false;
  return all_variables ||
         std::all_of(variables.begin(), variables.end(),
                     [&](std::uint32_t variable) { return iteration.holds.count(variable) > 0; });
}

bool Script::may_want(const Iteration& iteration) const {
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
  const auto wanted = [&](std::uint32_t variable) {
    return unknown() ||
           std::any_of(functions.begin(), functions.end(), [&](const ScriptFunction& function) {
             return function.is_due(iteration) && function.wants(variable);
           });
  };
  for (const auto& [variable, hold] : iteration.holds) {
    if (wanted(variable)) part->holds.emplace(variable, hold);
  }
  for (const Block& block : iteration.blocks) {
    if (part->holds.count(block.variable)) part->blocks.push_back(block);
  }
  return part;
}

void Script::add(std::shared_ptr<const Iteration> part) {
  if (!source->waits && !at_start && !waiting.empty() && !waiting.back().from_start) {
    waiting.pop_back();
    ++counts.skipped;
  }
  waiting.push_back({std::move(part), at_start});
}

void Script::has_started(std::int64_t now_ns) {
  if (std::exchange(at_start, false)) backlog_until_ns = now_ns + kCatchUpNs;
}

void Script::leave_backlog(std::int64_t now_ns) {
  if (source->waits || backlog_until_ns == 0 || now_ns < backlog_until_ns) return;
  backlog_until_ns = 0;
  while (waiting.size() > 1) {
    waiting.pop_front();
    ++counts.skipped;
  }
}

void Script::drop_waiting() {
  counts.skipped += waiting.size();
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

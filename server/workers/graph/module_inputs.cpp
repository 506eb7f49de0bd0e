// SPDX-License-Identifier: Apache-2.0
#include "server/workers/graph/module_inputs.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "lib/base/kept_with.hpp"
#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"

namespace leat::server {
namespace {

std::uint32_t index_of_variable(const std::string& name, const model::Model& model) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < model.variables.size(); ++i) {
    if (model.variables[i].name == name) return i;
    names.push_back(model.variables[i].name);
  }
  throw std::invalid_argument("there is no variable \"" + name + "\"" + did_you_mean(name, names));
}

bool has(const std::vector<Publication>& all, const std::string& product) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Publication& each) { return !wanted_of(each, {product}).empty(); });
}

}  // namespace

ModuleInputs::ModuleInputs(std::shared_ptr<const ModulePlan> plan, const model::Model& model)
    : plan_(std::move(plan)),
      model_(model),
      past_(plan_->inputs.size()),
      newest_(plan_->inputs.size()) {
  for (const ModuleInput& input : plan_->inputs) {
    if (!input.variable.empty()) variables_.push_back(index_of_variable(input.variable, model));
    filters_.emplace_back(input, model);
    most_tokens_ = std::max(most_tokens_, input.tokens);
  }
}

bool ModuleInputs::wants(std::uint32_t variable) const {
  return std::find(variables_.begin(), variables_.end(), variable) != variables_.end();
}

bool ModuleInputs::has_variables(const Iteration& iteration) const {
  return std::all_of(variables_.begin(), variables_.end(), [&](std::uint32_t variable) {
    return !model_.variables[variable].time_varying || iteration.pins.count(variable) > 0;
  });
}

// All connections have a say before one of them counts it.
bool ModuleInputs::is_wanted(const Iteration& iteration, std::int64_t now_ns) {
  if (!has_variables(iteration)) return false;
  for (const StampFilter& filter : filters_)
    if (!filter.lets_through(iteration, now_ns)) return false;
  for (StampFilter& filter : filters_) filter.passed(now_ns);
  return true;
}

std::shared_ptr<const Iteration> ModuleInputs::part_of(const Iteration& iteration) const {
  auto part = std::make_shared<Iteration>();
  part->number = iteration.number;
  part->complete = iteration.complete;
  part->parameters = iteration.parameters;
  part->signals = iteration.signals;
  for (const auto& [variable, pin] : iteration.pins)
    if (wants(variable)) part->pins.emplace(variable, pin);
  for (const Block& block : iteration.blocks)
    if (part->pins.count(block.variable)) part->blocks.push_back(block);
  return part;
}

void ModuleInputs::take(const Iteration& iteration, const std::shared_ptr<const void>& pending,
                        std::int64_t now_ns) {
  seen_.insert(iteration.number);
  const std::int64_t first = partials_.empty() ? iteration.number : partials_.begin()->first;
  while (before(first, most_tokens_ + 1)) seen_.erase(seen_.begin());
  if (!is_wanted(iteration, now_ns)) return;
  Partial& partial = partials_[iteration.number];
  partial.iteration = kept_with(part_of(iteration), pending);
  partial.inputs.resize(plan_->inputs.size());
}

void ModuleInputs::take(const Publication& publication) {
  const auto partial = partials_.find(publication.iteration);
  for (std::size_t i = 0; i < plan_->inputs.size(); ++i) {
    const ModuleInput& input = plan_->inputs[i];
    const std::vector<const Product*> wanted = wanted_of(publication, input.sources);
    if (wanted.empty()) continue;
    if (!std::all_of(wanted.begin(), wanted.end(), [&](const Product* each) {
          return filters_[i].lets_through(publication, *each);
        })) {
      if (partial != partials_.end()) partial->second.is_left_out = true;
      continue;
    }
    if (input.tokens > 0) {
      std::vector<Publication>& all = past_[i][publication.iteration];
      std::erase_if(all,
                    [&](const Publication& each) { return each.source == publication.source; });
      all.push_back(publication);
    } else if (input.greedy) {
      std::erase_if(newest_[i], [&](const Publication& each) {
        return each.source == publication.source && each.iteration < publication.iteration;
      });
      newest_[i].push_back(publication);
    } else if (partial != partials_.end()) {
      partial->second.inputs[i].push_back(publication);
    }
  }
}

void ModuleInputs::stores_have_published(std::int64_t iteration) {
  const auto partial = partials_.find(iteration);
  if (partial != partials_.end()) partial->second.stores_have_published = true;
}

bool ModuleInputs::is_store(const std::string& source) const {
  return std::any_of(model_.stores.begin(), model_.stores.end(),
                     [&](const model::Store& store) { return store.name == source; });
}

// The iteration that was `tokens` before this one, if there was one.
std::optional<std::int64_t> ModuleInputs::before(std::int64_t number, std::int64_t tokens) const {
  const auto at = seen_.find(number);
  if (std::distance(seen_.begin(), at) < tokens) return std::nullopt;
  return *std::prev(at, tokens);
}

ModuleInputs::Has ModuleInputs::state_of_past(const ModuleInput& input, std::int64_t number,
                                              const MayCome& may_come) const {
  const std::optional<std::int64_t> until = before(number, input.tokens);
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  const bool waits = until && std::any_of(input.sources.begin(), input.sources.end(),
                                          [&](const std::string& each) {
                                            return may_come(source_of(each), kFirst, *until);
                                          });
  return waits ? Has::waits : Has::all;
}

ModuleInputs::Has ModuleInputs::state_of(std::size_t i, std::int64_t number, const Partial& partial,
                                         const MayCome& may_come) const {
  const ModuleInput& input = plan_->inputs[i];
  if (!input.variable.empty() || input.greedy) return Has::all;
  if (input.tokens > 0) return state_of_past(input, number, may_come);
  std::size_t there = 0;
  bool may_more_come = false;
  for (const std::string& each : input.sources) {
    const std::string source = source_of(each);
    if (server::has(partial.inputs[i], each))
      ++there;
    else if (is_store(source) ? !partial.stores_have_published : may_come(source, number, number))
      may_more_come = true;
  }
  if (there == input.sources.size() || (input.any && there > 0)) return Has::all;
  return may_more_come ? Has::waits : Has::never;
}

ModuleInputs::Has ModuleInputs::state_of(std::int64_t number, const Partial& partial,
                                         const MayCome& may_come) const {
  Has all = Has::all;
  for (std::size_t i = 0; i < plan_->inputs.size(); ++i) {
    const Has one = state_of(i, number, partial, may_come);
    if (one == Has::never) return one;
    if (one == Has::waits) all = one;
  }
  return all;
}

bool ModuleInputs::is_whole(const ModuleInput& input, const std::vector<Publication>& all) {
  const auto there = std::count_if(input.sources.begin(), input.sources.end(),
                                   [&](const std::string& each) { return server::has(all, each); });
  return there == std::ssize(input.sources) || (input.any && there > 0);
}

// The last whole message until then. It is kept, for turns without another one; what is before it, or will never be
// whole, is not.
std::vector<Publication> ModuleInputs::take_past(const ModuleInput& input, std::int64_t until,
                                                 Past* past) {
  const auto end = past->upper_bound(until);
  auto last = end;
  while (last != past->begin()) {
    if (is_whole(input, (--last)->second)) {
      past->erase(std::next(last), end);
      past->erase(past->begin(), last);
      return last->second;
    }
  }
  past->erase(past->begin(), end);
  return {};
}

ScriptJob ModuleInputs::job_of(std::int64_t number, Partial partial) {
  for (std::size_t i = 0; i < plan_->inputs.size(); ++i) {
    const ModuleInput& input = plan_->inputs[i];
    if (input.greedy) partial.inputs[i] = newest_[i];
    const auto until = input.tokens > 0 ? before(number, input.tokens) : std::nullopt;
    if (!until) continue;
    partial.inputs[i] = take_past(input, *until, &past_[i]);
  }
  ScriptJob job{std::move(partial.iteration)};
  job.module = plan_;
  job.inputs = std::move(partial.inputs);
  return job;
}

std::optional<ScriptJob> ModuleInputs::take_ready(const MayCome& may_come) {
  while (!partials_.empty()) {
    const auto first = partials_.begin();
    const Has has = state_of(first->first, first->second, may_come);
    if (has == Has::waits) break;
    auto partial = partials_.extract(first);
    if (has == Has::all) return job_of(partial.key(), std::move(partial.mapped()));
    given_up_ += partial.mapped().is_left_out ? 0 : 1;
  }
  return std::nullopt;
}

bool ModuleInputs::has(std::int64_t first, std::int64_t last) const {
  const auto found = partials_.lower_bound(first);
  return found != partials_.end() && found->first <= last;
}

bool ModuleInputs::awaits_stores(std::int64_t iteration) const {
  const auto found = partials_.find(iteration);
  return found != partials_.end() && !found->second.stores_have_published;
}

std::size_t ModuleInputs::waiting_of(const std::string& source) const {
  const auto is_of = [&](const Publication& each) { return each.source == source; };
  return static_cast<std::size_t>(
      std::count_if(partials_.begin(), partials_.end(), [&](const auto& each) {
        return std::any_of(each.second.inputs.begin(), each.second.inputs.end(),
                           [&](const std::vector<Publication>& input) {
                             return std::any_of(input.begin(), input.end(), is_of);
                           });
      }));
}

std::int64_t ModuleInputs::depth_of(const std::string& source) const {
  std::int64_t depth = 0;
  for (const ModuleInput& input : plan_->inputs)
    for (const std::string& each : input.sources)
      if (input.depth > 0 && source_of(each) == source)
        depth = depth > 0 ? std::min(depth, input.depth) : input.depth;
  return depth;
}

std::uint64_t ModuleInputs::drop() {
  const std::uint64_t dropped = partials_.size();
  partials_.clear();
  return dropped;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "lib/model/places.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/checks.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

bool is_at(const Store& store, At at) { return store.at == at; }

bool has_scripts(const Model& model, At at) {
  const std::vector<ScriptSource>& sources = model.scripts.sources;
  return std::any_of(sources.begin(), sources.end(),
                     [&](const ScriptSource& each) { return each.at == at; });
}

// New numbers of stores: none for those that are not here.
using Numbers = std::vector<std::optional<std::uint32_t>>;

Numbers numbers_at(const Model& model, At at) {
  Numbers numbers;
  std::uint32_t next = 0;
  for (const Store& each : model.stores)
    numbers.push_back(is_at(each, at) ? std::optional(next++) : std::nullopt);
  return numbers;
}

// False: some of them are elsewhere.
bool renumber(const Numbers& numbers, std::vector<std::uint32_t>* stores) {
  std::vector<std::uint32_t> here;
  for (const std::uint32_t each : *stores)
    if (numbers[each]) here.push_back(*numbers[each]);
  const bool all = here.size() == stores->size();
  *stores = std::move(here);
  return all;
}

// What it is told, it is told as any store is.
Store to_staging(const Model& model, const std::string& config) {
  const Architecture& architecture = model.architecture;
  Store store;
  store.name = store.type = kToStaging;
  store.options = {{"config", config, {}},
                   {"nodes", std::to_string(architecture.staging.nodes), {}},
                   {"when-lost", word_of(architecture.staging.when_lost), {}},
                   {"drops-together", architecture.drops_together() ? "1" : "", {}},
                   {"timeout", std::to_string(architecture.timeout_seconds), {}}};
  return store;
}

// As nodes call their products: without the node, which "stats@4/profile" has on staging nodes.
std::string as_on_node(const std::string& pattern) {
  const std::size_t slash = pattern.find('/'), at = pattern.find('@');
  if (at >= slash) return pattern;
  return pattern.substr(0, at) + (slash == std::string::npos ? "*" : pattern.substr(slash));
}

std::vector<std::string> products_wanted(const Model& whole, bool by_scripts) {
  if (by_scripts) return {"*"};
  std::vector<std::string> wanted;
  for (const Store& each : whole.stores) {
    if (!is_at(each, At::staging)) continue;
    for (const std::string& pattern : each.products) wanted.push_back(as_on_node(pattern));
  }
  return wanted;
}

// Scripts say themselves what they want, when they are loaded: they may want all.
void send_what_is_wanted(Model* node, const Model& whole, const std::string& config,
                         bool by_scripts) {
  Store store = to_staging(whole, config);
  store.products = products_wanted(whole, by_scripts);
  std::int64_t every = by_scripts ? 1 : 0;
  const auto number = static_cast<std::uint32_t>(node->stores.size());
  for (std::size_t i = 0; i < node->variables.size(); ++i) {
    bool is_wanted = by_scripts;
    for (const std::uint32_t each : whole.variables[i].stores)
      is_wanted = is_wanted || is_at(whole.stores[each], At::staging);
    if (is_wanted) node->variables[i].stores.push_back(number);
  }
  for (const Store& each : whole.stores) {
    if (!is_at(each, At::staging)) continue;
    every = std::gcd(every, each.awaits_event ? 1 : each.every);
    store.where = each.where;
  }
  store.every = std::max<std::int64_t>(1, every);
  node->stores.push_back(std::move(store));
}

}  // namespace

bool has_staging(const Model& model) {
  return has_scripts(model, At::staging) ||
         std::any_of(model.stores.begin(), model.stores.end(),
                     [](const Store& each) { return is_at(each, At::staging); });
}

Model part_of(Model model, At at, const std::string& config) {
  const bool sends = at == At::node && has_staging(model);
  if (at == At::node && !sends) return model;
  const Model whole = model;
  const Numbers numbers = numbers_at(model, at);
  const bool by_scripts = has_scripts(model, At::staging);
  std::erase_if(model.stores, [&](const Store& each) { return !is_at(each, at); });
  std::erase_if(model.scripts.sources, [&](const ScriptSource& each) { return each.at != at; });
  const auto sender = static_cast<std::uint32_t>(model.stores.size());
  for (Variable& each : model.variables) renumber(numbers, &each.stores);
  for (Event& each : model.events) {
    const bool all_stores = renumber(numbers, &each.stores);
    const bool all_told = renumber(numbers, &each.told);
    if (sends && (!all_stores || !all_told || (by_scripts && !each.scripts.empty())))
      each.told.push_back(sender);
  }
  if (sends) send_what_is_wanted(&model, whole, config, by_scripts);
  if (at == At::node) return model;
  Architecture& architecture = model.architecture;
  const StagingFields& staging = architecture.staging;
  architecture.place = Place::process;
  // Its ranks are those of a program that ends iterations of one after the other: none may wait for the others, nor does a
  // rank of the simulation.
  architecture.mode = EndMode::async;
  for (Store& each : model.stores)
    if (each.runs == Schedule::sync) each.runs = Schedule::server;
  // What comes was taken from its rank already: it is too late to refuse it.
  if (architecture.overflow_policy == OverflowPolicy::error)
    architecture.overflow_policy = OverflowPolicy::wait;
  architecture.servers = 1;
  // It comes from nodes, where it is made.
  for (Variable& each : model.variables) each.derived.reset();
  model.derived_order.clear();
  if (staging.cores > 0) architecture.dedicated_cores = staging.cores;
  if (staging.buffer_bytes > 0) architecture.buffer_bytes = staging.buffer_bytes;
  return model;
}

void refuse_ways_back(ReadContext& context) {
  const std::vector<ProductMaker> makers = makers_of(context.model);
  for (const Store& each : context.model.stores) {
    const std::string why = why_never_there(maker_of(each), makers);
    if (!why.empty()) context.error(each.where, "store \"" + each.name + "\": " + why);
  }
}

void check_places(ReadContext& context, const XmlElement& root) {
  const Model& model = context.model;
  const bool is_there = model.architecture.staging.nodes > 0;
  const auto refuse = [&](const SourceLocation& where, const std::string& what) {
    context.error(where, what +
                             " has at=\"staging\", and there are no such nodes: write "
                             "<staging nodes=\"1\"/> into <architecture>");
  };
  for (const Store& each : model.stores) {
    if (each.name == kToStaging)
      context.error(each.where, std::string("a store cannot be called \"") + kToStaging +
                                    "\": what goes to staging nodes is called so");
    if (is_at(each, At::staging) && !is_there) refuse(each.where, "store \"" + each.name + "\"");
    if (is_at(each, At::staging) && each.period)
      context.error(each.where,
                    "store \"" + each.name +
                        "\" has at=\"staging\", and takes variables that are over periods of time: "
                        "these are stored where they are made; write at=\"node\"");
    if (is_at(each, At::staging) && (is_apart(each.runs) || is_of_simulation(each.runs)))
      context.error(each.where, "store \"" + each.name + "\" has runs=\"" + word_of(each.runs) +
                                    "\", which is for time that a simulation leaves: there is none "
                                    "on a staging node");
  }
  refuse_ways_back(context);
  for (const ScriptSource& each : model.scripts.sources)
    if (each.at == At::staging && !is_there) refuse(each.where, each.path);
  if (is_there && !has_staging(model))
    context.out.warning(only(context, root, "staging").where,
                        "<staging> has nothing to do: no store and no script has at=\"staging\"");
}

}  // namespace leat::model

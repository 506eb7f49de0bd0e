// SPDX-License-Identifier: Apache-2.0
#include "lib/model/explain.hpp"

#include <algorithm>

#include "lib/base/stored_as.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/splitting.hpp"
#include "lib/model/wanted.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

std::string numbers_of(std::int64_t n, bool over_time) {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  if (over_time) return "0 to " + text(n - 1) + ", " + text(n) + " to " + text(2 * n - 1) + ", ...";
  return "0, " + text(n) + ", " + text(2 * n) + ", ...";
}

// "in iterations 0, 10, 20, ...".
std::string when_in_words(const Every& every, bool over_time) {
  if (!every.condition.empty()) {
    Every without = every;
    without.condition.clear();
    return when_in_words(without, over_time) + ", if " + every.condition;
  }
  const std::int64_t n = iterations_of(every);
  if (n == 1 && !over_time) return "in each iteration";
  if (n > 0 && !over_time) return "in iterations " + numbers_of(n, false);
  if (n > 0) return "over each " + std::to_string(n) + " iterations, " + numbers_of(n, true);
  switch (every.clock) {
    case Every::Clock::first:
      return "in the first iteration";
    case Every::Clock::last:
      return "in the last iteration, written when the run is over";
    case Every::Clock::run:
      return "over the whole run, written when that is over";
    case Every::Clock::wall:
      return "in the first iteration after each " + to_text(every) + " since the run began";
    case Every::Clock::iterations:
      return (over_time ? "over each " : "in each of ") + to_text(every) + " iterations";
    default:
      return (over_time ? "over each " : "in the first iteration at or after each ") +
             to_text(every) + " of the simulation's time";
  }
}

// Of iterations that no event chooses.
std::string when_taken(const Model& model, const Store& store) {
  Every every;
  every.phases = {{{store.every, 0, std::nullopt}, std::nullopt}};
  return when_in_words(store.due ? model.periods[*store.due] : every, false);
}

std::string file_of(const Model& model, const Store& store) {
  if (store.type != "hdf5") return store.plugin();
  return store.option("file", model.name + ".h5");
}

std::string stores_of(const Model& model, const Variable& variable) {
  std::string text;
  for (const std::uint32_t each : variable.stores) {
    const Store& store = model.stores[each];
    text += (text.empty() ? "" : " and ") +
            ("store \"" + store.name + "\" (" + file_of(model, store) + ")");
  }
  return text;
}

std::string of_ranks(const Model& model, const Variable& variable, std::uint32_t step) {
  std::string text = "\"" + variable.name + "\" is written by the simulation";
  if (step == 0) return text + ", and nobody takes it: leat_write copies nothing.";
  if (variable.stores.empty())
    return text + ", and is in no file: scripts or other variables take it.";
  for (const std::uint32_t each : variable.stores) {
    const Store& store = model.stores[each];
    const std::string when = !variable.time_varying ? "once"
                             : store.awaits_event   ? "in iterations in which an event says so"
                             : variable.period
                                 ? when_in_words(model.periods[*variable.period], false)
                                 : when_taken(model, store);
    text += ", and goes to store \"" + store.name + "\" (" + file_of(model, store) + ") " + when;
  }
  return text + ".";
}

std::string of_server(const Model& model, std::uint32_t number) {
  const Variable& variable = model.variables[number];
  std::string text = "\"" + variable.name + "\" is " + what_is_made(model, number);
  const StoredAs as = stored_as(variable.options);
  text += std::string(", as ") +
          scalar_name(as.is_any() ? as.type : model.layouts[variable.layout].type);
  if (!variable.unit.empty()) text += " in " + variable.unit;
  if (as.is_any()) text += ", " + as.in_words();
  const std::string stores = stores_of(model, variable);
  return text + (stores.empty() ? "; it is in no file." : "; it goes to " + stores + ".");
}

// ", a new file every 1 mo"
std::string of_split(const Store& store) {
  const Result<Every> split = parse_split(store.option("split", ""));
  if (!split) return "";
  const bool counts = split->clock == Every::Clock::iterations;
  return ", a new file every " + to_text(*split) + (counts ? " iterations" : "");
}

std::string of_store(const Model& model, const Store& store) {
  std::string names;
  const auto number = static_cast<std::uint32_t>(&store - model.stores.data());
  for (const Variable& each : model.variables) {
    if (std::count(each.stores.begin(), each.stores.end(), number) > 0)
      names += (names.empty() ? "" : ", ") + each.name;
  }
  const std::string rows = store.period
                               ? "has a row " + when_in_words(model.periods[*store.period], true)
                           : store.awaits_event ? "takes iterations in which an event says so"
                                                : "takes its variables " + when_taken(model, store);
  return "store \"" + store.name + "\" (" + file_of(model, store) + of_split(store) + ") " + rows +
         ": " + (names.empty() ? "none" : names) + ".";
}

}  // namespace

std::string what_is_made(const Model& model, std::uint32_t variable) {
  const Derived& derived = *model.variables[variable].derived;
  const std::string when = when_in_words(model.periods[derived.period], derived.is_over_time());
  if (derived.reduction && !derived.only_gathers) {
    const std::vector<std::string>& along = derived.reduction->along;
    return std::string("the ") + word_of(derived.reduction->operation) + " of " +
           derived.expression.text + (along.empty() ? "" : " along " + joined(along, ", ")) +
           " over all ranks, " + when;
  }
  if (!derived.is_over_time() || derived.operation == Operation::latest)
    return derived.expression.text + " " + when;
  static const std::pair<Operation, const char*> kNames[] = {{Operation::mean, "mean"},
                                                             {Operation::minimum, "minimum"},
                                                             {Operation::maximum, "maximum"},
                                                             {Operation::accumulate, "sum"},
                                                             {Operation::variance, "variance"}};
  for (const auto& [operation, name] : kNames) {
    if (operation == derived.operation)
      return std::string("the ") + name + " of " + derived.expression.text + " " + when;
  }
  return "";
}

std::string explained(const Model& model, const std::string& name) {
  std::string text;
  const std::size_t variable = index_of(model.variables, name),
                    store = index_of(model.stores, name);
  if (variable < model.variables.size()) {
    const auto number = static_cast<std::uint32_t>(variable);
    text = model.variables[variable].derived
               ? of_server(model, number)
               : of_ranks(model, model.variables[variable], wanted_steps(model)[number]);
  }
  if (store < model.stores.size())
    text += (text.empty() ? "" : "\n") + of_store(model, model.stores[store]);
  return text;
}

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
#include "lib/model/wanted.hpp"

#include <algorithm>
#include <numeric>

namespace leat::model {
namespace {

// 1 where it is not due by numbers of iterations.
std::int64_t own_step(const Model& model, const Variable& variable) {
  return variable.period ? std::max<std::int64_t>(1, iterations_of(model.periods[*variable.period]))
                         : 1;
}

}  // namespace

std::vector<std::uint32_t> coordinates_of(const Derived& derived) {
  std::vector<std::uint32_t> all;
  if (derived.axis && derived.axis->variable) all.push_back(*derived.axis->variable);
  for (const Selected& each : derived.selection) {
    if (each.range && each.range->axis.variable) all.push_back(*each.range->axis.variable);
    if (each.place && each.place->axis && each.place->axis->variable)
      all.push_back(*each.place->axis->variable);
  }
  return all;
}

std::vector<std::uint32_t> wanted_steps(const Model& model) {
  std::vector<std::uint32_t> steps;
  for (const Variable& variable : model.variables) {
    // Which variables scripts ask for is known only while they run.
    std::int64_t step = model.scripts.exist() ? 1 : 0;
    for (const std::uint32_t store : variable.stores) {
      // Whether one that awaits an event gets an iteration is known when that has ended.
      const Store& taker = model.stores[store];
      const std::int64_t due = taker.awaits_event ? 1 : taker.every;
      step = std::gcd(step, std::lcm(due, own_step(model, variable)));
    }
    steps.push_back(static_cast<std::uint32_t>(step));
  }
  for (const std::optional<Condition>& condition : model.conditions) {
    for (const Condition::Input& input :
         condition ? condition->inputs : std::vector<Condition::Input>()) {
      if (input.kind == Condition::Kind::variable) steps[input.number] = 1;
    }
  }
  // What others are made of is wanted when those are, who come after it.
  for (auto each = model.derived_order.rbegin(); each != model.derived_order.rend(); ++each) {
    const Derived& derived = *model.variables[*each].derived;
    if (steps[*each] == 0) continue;
    const std::int64_t step =
        derived.is_over_time()
            ? 1
            : std::lcm<std::int64_t>(
                  steps[*each],
                  std::max<std::int64_t>(1, iterations_of(model.periods[derived.period])));
    const auto want = [&](std::uint32_t number) {
      steps[number] = static_cast<std::uint32_t>(std::gcd<std::int64_t>(steps[number], step));
    };
    for (const Derived::Input& input : derived.inputs)
      if (!input.is_parameter) want(input.number);
    for (const std::uint32_t each : coordinates_of(derived)) want(each);
  }
  return steps;
}

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
#include "server/derive/conditions.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace leat::server {
namespace {

bool happens(const Iteration& iteration, std::uint32_t event) {
  return std::any_of(iteration.signals.begin(), iteration.signals.end(),
                     [&](const Signal& each) { return each.event == event; });
}

}  // namespace

Conditions::Conditions(const model::Model& model) : model_(model) {
  for (std::uint32_t i = 0; i < model.conditions.size(); ++i) {
    if (model.conditions[i]) evaluations_.try_emplace(i, model.conditions[i]->expression);
  }
}

void Conditions::begin() {
  for (const auto& [period, evaluation] : evaluations_) unsettled_.insert(period);
}

bool Conditions::is_due(std::uint32_t period, Making* making) {
  if (unsettled_.count(period) > 0) settle(period, making);
  return making->iteration.due[period] != 0;
}

void Conditions::settle_rest(Making* making) {
  while (!unsettled_.empty()) settle(*unsettled_.begin(), making);
}

void Conditions::settle(std::uint32_t period, Making* making) {
  unsettled_.erase(period);
  std::uint8_t& due = making->iteration.due[period];
  if (due != 0 && !holds(period, *making)) due = 0;
}

// Where something is not there, or no number, it does not hold.
bool Conditions::holds(std::uint32_t period, const Making& making) {
  static constexpr double kNo = 0, kYes = 1;
  std::vector<ArrayInput> inputs;
  for (const model::Condition::Input& each : model_.conditions[period]->inputs) {
    ArrayInput input;
    switch (each.kind) {
      case model::Condition::Kind::parameter:
        input.data = &making.from.parameters[each.number];
        break;
      case model::Condition::Kind::event:
        input.data = happens(making.iteration, each.number) ? &kYes : &kNo;
        break;
      case model::Condition::Kind::variable:
        if (!making.has_blocks(each.number)) return false;
        input.data = making.from.blocks[each.number][0].data;
        input.type = making.layout_of(each.number).type;
    }
    inputs.push_back(input);
  }
  double value = 0;
  evaluations_.at(period).run(
      inputs, {}, [&](std::int64_t, const double* values, std::int64_t) { value = values[0]; });
  return value != 0 && !std::isnan(value);
}

}  // namespace leat::server

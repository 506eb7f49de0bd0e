// SPDX-License-Identifier: Apache-2.0
#include "server/state/parameters/differing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "server/state/parameters/steering.hpp"

namespace leat::server {

DifferingParameters::DifferingParameters(const model::Model& model) : model_(model) {
  std::uint32_t number = 0;
  const auto use = [&](std::uint32_t parameter) { used_.try_emplace(parameter, number); };
  const auto use_all = [&](const std::optional<model::Expression>& index) {
    if (!index) return;
    for (const ExpressionOp& each : index->program)
      if (each.kind == ExpressionOp::parameter) use(static_cast<std::uint32_t>(each.index));
  };
  for (; number < model.variables.size(); ++number) {
    const model::Variable& variable = model.variables[number];
    if (!variable.derived) continue;
    for (const model::Derived::Input& each : variable.derived->inputs)
      if (each.is_parameter) use(each.number);
    for (const model::Selected& each : variable.derived->selection) {
      use_all(each.first_of);
      use_all(each.end_of);
      if (each.place && each.place->parameter) use(*each.place->parameter);
    }
  }
}

void DifferingParameters::note(std::int64_t iteration, std::int32_t rank, std::uint32_t parameter,
                               const ParameterValue& value) {
  if (used_.count(parameter) > 0) set_[{iteration, parameter}][rank] = value;
}

std::vector<Finding> DifferingParameters::ended(std::int64_t iteration) {
  std::vector<Finding> all;
  const auto end = set_.lower_bound({iteration + 1, 0});
  for (auto each = set_.begin(); each != end; ++each) {
    const auto [number, parameter] = each->first;
    const auto& [first_rank, first] = *each->second.begin();
    const auto other = std::find_if(each->second.begin(), each->second.end(),
                                    [&](const auto& set) { return set.second != first; });
    const auto used = used_.find(parameter);
    if (other == each->second.end() || used == used_.end()) continue;
    const model::Variable& variable = model_.variables[used->second];
    all.push_back(
        {"parameters", used->second, number,
         fmt::format("ranks have set the parameter \"{0}\" differently ({1} on rank {2}, {3} on "
                     "rank {4}), and \"{5}\" ({6}:{7}) is made with it: each server takes the "
                     "value of its lowest rank for all; give \"{5}\" a parameter that is the same "
                     "on all ranks",
                     model_.parameters[parameter].name, text_of(first), first_rank,
                     text_of(other->second), other->first, variable.name, variable.where.file,
                     variable.where.line)});
    used_.erase(used);
  }
  set_.erase(set_.begin(), end);
  return all;
}

}  // namespace leat::server

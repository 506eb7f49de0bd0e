// SPDX-License-Identifier: Apache-2.0
#include "server/parameter_log.hpp"

#include <utility>

namespace leat::server {

ParameterLog::ParameterLog(const model::Model& model) {
  for (const model::Parameter& each : model.parameters) {
    ParameterValue value;
    if (each.has_value && each.kind == model::Parameter::Kind::integer) value = each.integer;
    if (each.has_value && each.kind == model::Parameter::Kind::real) value = each.real;
    if (each.has_value && each.kind == model::Parameter::Kind::text) value = each.text;
    now_.push_back(std::move(value));
  }
}

void ParameterLog::set(std::uint32_t parameter, ParameterValue value) {
  if (parameter < now_.size()) now_[parameter] = std::move(value);
}

std::vector<ParameterValue> ParameterLog::take(std::int64_t iteration) {
  const auto found = ended_.find(iteration);
  std::vector<ParameterValue> values = found == ended_.end() ? now_ : found->second;
  ended_.erase(ended_.begin(), ended_.upper_bound(iteration));
  return values;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/parameter_log.hpp"

#include <cstdlib>
#include <utility>

namespace leat::server {
namespace {

// A first rank that is further ahead than this has lost its mind; of iterations before those the
// latest values are told.
constexpr std::size_t kMostAhead = std::size_t{1} << 16;

bool fits(const ParameterValue& value, model::Parameter::Kind kind) {
  switch (kind) {
    case model::Parameter::Kind::integer:
      return std::holds_alternative<std::int64_t>(value);
    case model::Parameter::Kind::real:
      return std::holds_alternative<double>(value);
    case model::Parameter::Kind::text:
      return std::holds_alternative<std::string>(value);
  }
  return false;
}

}  // namespace

ParameterLog::ParameterLog(const model::Model& model) : model_(model) {
  for (const model::Parameter& each : model.parameters) {
    ParameterValue value;
    if (each.has_value && each.kind == model::Parameter::Kind::integer) value = each.integer;
    if (each.has_value && each.kind == model::Parameter::Kind::real) value = each.real;
    if (each.has_value && each.kind == model::Parameter::Kind::text) value = each.text;
    now_.push_back(std::move(value));
  }
}

void ParameterLog::set(std::uint32_t parameter, ParameterValue value) {
  if (parameter < now_.size() && fits(value, model_.parameters[parameter].kind))
    now_[parameter] = std::move(value);
}

void ParameterLog::steer(std::int64_t iteration, const std::string& parameter,
                         const std::string& value) {
  std::uint32_t i = 0;
  while (i < now_.size() && model_.parameters[i].name != parameter) ++i;
  if (i == now_.size()) return;
  switch (model_.parameters[i].kind) {
    case model::Parameter::Kind::integer:
      steered_.insert({iteration, {i, std::int64_t{std::strtoll(value.c_str(), nullptr, 10)}}});
      return;
    case model::Parameter::Kind::real:
      steered_.insert({iteration, {i, std::strtod(value.c_str(), nullptr)}});
      return;
    case model::Parameter::Kind::text:
      steered_.insert({iteration, {i, value}});
      return;
  }
}

void ParameterLog::iteration_ended(std::int64_t iteration) {
  if (now_.empty()) return;
  ended_[iteration] = now_;
  if (ended_.size() > kMostAhead) ended_.erase(ended_.begin());
  const auto begun =
      iteration == INT64_MAX ? steered_.end() : steered_.upper_bound(iteration + 1);
  for (auto each = steered_.begin(); each != begun; ++each)
    now_[each->second.parameter] = each->second.value;
  steered_.erase(steered_.begin(), begun);
}

std::vector<ParameterValue> ParameterLog::take(std::int64_t iteration) {
  const auto found = ended_.find(iteration);
  std::vector<ParameterValue> values = found == ended_.end() ? now_ : found->second;
  ended_.erase(ended_.begin(), ended_.upper_bound(iteration));
  return values;
}

}  // namespace leat::server

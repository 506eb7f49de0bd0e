// SPDX-License-Identifier: Apache-2.0
#include "client-api/parameter_table.hpp"

#include <utility>

#include "lib/base/text.hpp"

namespace leat::client {
namespace {

ParameterValue value_in(const shm::Catalogue& catalogue, const shm::ParameterRecord& record) {
  if (record.has_value == 0) return {};
  switch (record.kind) {
    case kInteger:
      return record.integer;
    case kReal:
      return record.real;
    default:
      return std::string(catalogue.text(record.text));
  }
}

}  // namespace

ParameterTable::ParameterTable(const shm::Catalogue& catalogue, std::string config)
    : config_(std::move(config)) {
  for (const shm::ParameterRecord& p : catalogue.parameters()) {
    parameters_.push_back({std::string(catalogue.text(p.name)), p.kind, value_in(catalogue, p)});
  }
  for (std::uint32_t i = 0; i < parameters_.size(); ++i) numbers_.emplace(parameters_[i].name, i);
}

std::int64_t ParameterTable::find(std::string_view name) const noexcept {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::int64_t{-1} : found->second;
}

Error ParameterTable::unknown(std::string_view name) const {
  std::vector<std::string> names;
  for (const Parameter& each : parameters_) names.push_back(each.name);
  return {Status::ERROR_UNKNOWN_NAME, config_ + " declares no parameter \"" + std::string(name) +
                                          "\"" + did_you_mean(name, names)};
}

void ParameterTable::set_steered(std::uint32_t parameter, const shm::SteeredValue& value) {
  if (parameter >= parameters_.size()) return;
  switch (parameters_[parameter].kind) {
    case kInteger:
      return set(parameter, value.integer());
    case kReal:
      return set(parameter, value.real());
    default:
      return set(parameter, std::string(value.text()));
  }
}

}  // namespace leat::client

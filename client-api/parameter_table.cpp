// SPDX-License-Identifier: Apache-2.0
#include "client-api/parameter_table.hpp"

#include <utility>

#include "lib/base/suggest.hpp"

namespace leat::client {

ParameterTable::ParameterTable(const shm::Catalogue& catalogue, std::string config)
    : config_(std::move(config)) {
  for (const shm::ParameterRecord& p : catalogue.parameters()) {
    values_.push_back({std::string(catalogue.text(p.name)), p.kind, p.has_value != 0, p.integer,
                       p.real, std::string(p.kind == kText ? catalogue.text(p.text) : "")});
  }
  for (std::uint32_t i = 0; i < values_.size(); ++i) numbers_.emplace(values_[i].name, i);
}

std::int64_t ParameterTable::find(std::string_view name) const noexcept {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::int64_t{-1} : found->second;
}

Error ParameterTable::unknown(std::string_view name) const {
  std::vector<std::string> names;
  for (const Value& each : values_) names.push_back(each.name);
  return {Status::ERROR_UNKNOWN_NAME, config_ + " declares no parameter \"" + std::string(name) +
                                          "\"" + did_you_mean(name, names)};
}

std::int64_t ParameterTable::integer(std::uint32_t parameter) const noexcept {
  return values_[parameter].integer;
}

double ParameterTable::real(std::uint32_t parameter) const noexcept {
  const Value& value = values_[parameter];
  return value.kind == kInteger ? static_cast<double>(value.integer) : value.real;
}

const std::string& ParameterTable::text(std::uint32_t parameter) const noexcept {
  return values_[parameter].text;
}

void ParameterTable::set_integer(std::uint32_t parameter, std::int64_t value) noexcept {
  values_[parameter].integer = value;
  values_[parameter].known = true;
}

void ParameterTable::set_real(std::uint32_t parameter, double value) noexcept {
  values_[parameter].real = value;
  values_[parameter].known = true;
}

void ParameterTable::set_text(std::uint32_t parameter, std::string_view value) {
  values_[parameter].text = value;
  values_[parameter].known = true;
}

void ParameterTable::set_steered(std::uint32_t parameter, const shm::SteeredValue& value) {
  if (parameter >= values_.size()) return;
  switch (values_[parameter].kind) {
    case kInteger:
      return set_integer(parameter, value.integer());
    case kReal:
      return set_real(parameter, value.real());
    default:
      return set_text(parameter, value.text());
  }
}

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
#include "client-api/parameter_values.hpp"

namespace leat::client {

ParameterValues::ParameterValues(const shm::Catalogue& catalogue) {
  for (const shm::ParameterRecord& p : catalogue.parameters()) {
    values_.push_back({p.kind, p.has_value != 0, p.integer, p.real,
                       std::string(p.kind == kText ? catalogue.text(p.text) : "")});
  }
}

std::int64_t ParameterValues::integer(std::uint32_t parameter) const noexcept {
  return values_[parameter].integer;
}

double ParameterValues::real(std::uint32_t parameter) const noexcept {
  const Value& value = values_[parameter];
  return value.kind == kInteger ? static_cast<double>(value.integer) : value.real;
}

const std::string& ParameterValues::text(std::uint32_t parameter) const noexcept {
  return values_[parameter].text;
}

void ParameterValues::set_integer(std::uint32_t parameter, std::int64_t value) noexcept {
  values_[parameter].integer = value;
  values_[parameter].known = true;
}

void ParameterValues::set_real(std::uint32_t parameter, double value) noexcept {
  values_[parameter].real = value;
  values_[parameter].known = true;
}

void ParameterValues::set_text(std::uint32_t parameter, std::string_view value) {
  values_[parameter].text = value;
  values_[parameter].known = true;
}

void ParameterValues::set_steered(std::uint32_t parameter, const shm::SteeredValue& value) {
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

// SPDX-License-Identifier: Apache-2.0
#include "lib/staging/values.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <variant>

namespace leat::staging {

using nlohmann::json;

json json_of(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value))
    return {{"bits", std::bit_cast<std::int64_t>(*real)}};
  return std::string(as_text(value));
}

ParameterValue value_in(const json& said) {
  if (said.is_string()) return said.get<std::string>();
  if (said.is_object()) return std::bit_cast<double>(said.at("bits").get<std::int64_t>());
  return said.get<std::int64_t>();
}

}  // namespace leat::staging

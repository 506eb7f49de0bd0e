// SPDX-License-Identifier: Apache-2.0
// What a parameter is: in the XML, at a client, at each iteration of the server, and steered. Which
// of the three it may be, its kind says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace leat {

/// Nothing: nobody has given it a value.
using ParameterValue = std::variant<std::monostate, std::int64_t, double, std::string>;

inline bool is_set(const ParameterValue& value) noexcept { return value.index() != 0; }

/// The number that it is, as an integer or as a real one; 0 when it is none.
inline std::int64_t as_integer(const ParameterValue& value) noexcept {
  const auto* const integer = std::get_if<std::int64_t>(&value);
  return integer ? *integer : 0;
}
inline double as_real(const ParameterValue& value) noexcept {
  const auto* const real = std::get_if<double>(&value);
  return real ? *real : static_cast<double>(as_integer(value));
}
/// "" when it is no text. A 0 stands behind it.
inline std::string_view as_text(const ParameterValue& value) noexcept {
  const auto* const text = std::get_if<std::string>(&value);
  return text ? std::string_view(*text) : std::string_view("");
}

}  // namespace leat

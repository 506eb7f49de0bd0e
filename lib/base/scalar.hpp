// SPDX-License-Identifier: Apache-2.0
// Element types of arrays, and values of parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace leat {

// Element types of arrays.

/// More dimensions than Fortran has (15 in the standard, 7 in most codes) are refused with a message.
inline constexpr std::size_t kMaxDims = 8;
/// Levels of refinement of a mesh that does not say how many it has.
inline constexpr std::int32_t kMaxLevels = 64;

enum class ScalarType : std::uint32_t {
#define LEAT_SCALAR(id, value, name, alias, bytes, numpy) id = value,
#include "lib/base/scalar_types.def"
#undef LEAT_SCALAR
};

/// Bytes of one element; 0 for a value that is no type (the segment may hold anything).
std::size_t scalar_bytes(ScalarType type) noexcept;
/// The name used in the XML ("float64"); "unknown" for a value that is no type.
const char* scalar_name(ScalarType type) noexcept;
/// Reads the XML name or its alias ("double" is float64).
std::optional<ScalarType> scalar_from_name(std::string_view name) noexcept;

// What a parameter is: in the XML, at a client, at each iteration of the server, and steered. Which
// of the three it may be, its kind says.

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

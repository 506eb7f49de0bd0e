// SPDX-License-Identifier: Apache-2.0
// Element types of arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace leat {

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

}  // namespace leat

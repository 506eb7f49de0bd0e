// SPDX-License-Identifier: Apache-2.0
// What is done with elements of any type that is a real number or an integer.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "lib/base/scalar.hpp"

namespace leat {

/// Returns use(T{}), where T is the type in C++. Throws std::invalid_argument for text and complex numbers.
template <class Use>
auto with_number_type(ScalarType type, const Use& use) {
  switch (type) {
    case ScalarType::int8:
      return use(std::int8_t{});
    case ScalarType::int16:
      return use(std::int16_t{});
    case ScalarType::int32:
      return use(std::int32_t{});
    case ScalarType::int64:
      return use(std::int64_t{});
    case ScalarType::uint8:
      return use(std::uint8_t{});
    case ScalarType::uint16:
      return use(std::uint16_t{});
    case ScalarType::uint32:
      return use(std::uint32_t{});
    case ScalarType::uint64:
      return use(std::uint64_t{});
    case ScalarType::float32:
      return use(float{});
    case ScalarType::float64:
      return use(double{});
    default:
      throw std::invalid_argument("elements of this type are no numbers");
  }
}

}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
// Arrays of callers: what a leat_array says, and the one copy of those that are not contiguous.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/scalar.hpp"
#include "lib/shm/layout.hpp"

struct leat_array;

namespace leat::client {

/// An array in C order: the last dimension is to vary fastest in the copy. Strides are in bytes.
struct ArrayView {
  const void* data = nullptr;
  ScalarType type = ScalarType::float64;
  std::uint32_t dims = 0;
  std::array<std::int64_t, kMaxDims> extent{}, stride{};
};

/// Copies all elements, densely, in C order. No heap, no system call; a contiguous array is one
/// memcpy.
void pack(void* to, const ArrayView& from) noexcept;

/// The same, and the CRC-32C of what it copied.
std::uint32_t pack_with_checksum(void* to, const ArrayView& from) noexcept;

/// An array of C, with strides that are 0 where they would be no numbers; as many extents as LEAT_MAX_DIMS at most are read.
leat_array array_in_c_order(const void* data, std::int32_t type, std::int32_t dims,
                            const std::int64_t* extents);
/// Whether an array of another language says what it is; it may be null.
bool is_sound(const leat_array* array);
ArrayView view_of(const leat_array& array);
/// Says of the memory of a block, in the caller's order, what it is.
void describe(const shm::BlockHeader& block, ScalarType type, void* data, leat_array* array);

}  // namespace leat::client

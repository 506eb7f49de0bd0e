// SPDX-License-Identifier: Apache-2.0
// leat_array, in which other languages say what their arrays are, as this library has it.
#pragma once

#include "client-api/packing.hpp"
#include "lib/base/scalar.hpp"
#include "lib/shm/layout.hpp"

struct leat_array;

namespace leat::client {

/// Whether it says what it is; it may be null.
bool is_sound(const leat_array* array);
ArrayView view_of(const leat_array& array);
/// Says of the memory of a block, in the caller's order, what it is.
void describe(const shm::BlockHeader& block, ScalarType type, void* data, leat_array* array);

}  // namespace leat::client

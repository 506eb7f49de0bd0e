// SPDX-License-Identifier: Apache-2.0
#include "client-api/c_arrays.hpp"

#include "client-api/leat.h"

namespace leat::client {

static_assert(LEAT_MAX_DIMS == kMaxDims);

bool is_sound(const leat_array* array) {
  if (!array || array->struct_size < sizeof(leat_array)) return false;
  if (array->dims < 0 || array->dims > LEAT_MAX_DIMS) return false;
  return scalar_bytes(static_cast<ScalarType>(array->type)) != 0;
}

ArrayView view_of(const leat_array& array) {
  ArrayView view;
  view.data = array.data;
  view.type = static_cast<ScalarType>(array.type);
  view.dims = static_cast<std::uint32_t>(array.dims);
  for (std::uint32_t d = 0; d < view.dims; ++d) {
    const std::uint32_t from = array.column_major ? view.dims - 1 - d : d;
    view.extent[d] = array.extent[from];
    view.stride[d] = array.stride[from];
  }
  return view;
}

void describe(const shm::BlockHeader& block, ScalarType type, void* data, leat_array* array) {
  array->data = data;
  array->type = static_cast<std::int32_t>(type);
  array->dims = static_cast<std::int32_t>(block.dims);
  auto stride = static_cast<std::int64_t>(scalar_bytes(type));
  for (std::uint32_t d = block.dims; d-- > 0;) {
    const std::uint32_t to = array->column_major ? block.dims - 1 - d : d;
    array->extent[to] = block.extent[d];
    array->stride[to] = stride;
    stride *= block.extent[d];
  }
}

}  // namespace leat::client

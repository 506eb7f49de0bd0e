// SPDX-License-Identifier: Apache-2.0
// The part of Session for arrays that say what they are, and for what is in a block.
#include <cstring>

#include "client-api/leat.h"
#include "client-api/session.hpp"
#include "lib/platform/crc32c.hpp"

namespace leat::client {
namespace {

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

void describe(const BlockShape& shape, ScalarType type, void* data, leat_array* array) {
  array->data = data;
  array->type = static_cast<std::int32_t>(type);
  array->dims = static_cast<std::int32_t>(shape.dims);
  auto stride = static_cast<std::int64_t>(scalar_bytes(type));
  for (std::uint32_t d = shape.dims; d-- > 0;) {
    const std::uint32_t to = array->column_major ? shape.dims - 1 - d : d;
    array->extent[to] = shape.extent[d];
    array->stride[to] = stride;
    stride *= shape.extent[d];
  }
}

}  // namespace

void Session::add_checksum(Call& call, std::uint64_t offset) noexcept {
  if (segment_.header().checksums == 0) return;
  shm::BlockHeader& header = *segment_.at<shm::BlockHeader>(offset);
  call.lock.unlock();
  header.checksum = platform::crc32c(&header + 1, header.data_bytes);
  header.has_checksum = 1;
  call.lock.lock();
}

bool Session::find_with_list(Call& call, const char* name, std::uint32_t block,
                             const NumberList& list, std::uint32_t* variable,
                             std::array<std::int64_t, kMaxDims>* numbers, Status* status) {
  if (!find_block(call, name, block, variable, status)) return false;
  const std::uint32_t dims = variables_.dims(*variable);
  if (list.count != NumberList::kAsMany && list.count != static_cast<std::int32_t>(dims)) {
    *status = complain(call, variables_.wrong_count(*variable, list), name);
    return false;
  }
  if (!list.numbers && dims > 0) {
    *status = complain(call, {Status::ERROR_ARGUMENT, "the numbers are NULL"}, name);
    return false;
  }
  for (std::uint32_t d = 0; d < dims; ++d)
    (*numbers)[d] = list.numbers[list.column_major ? dims - 1 - d : d];
  return true;
}

Status Session::set_extent(Call& call, const char* name, std::uint32_t block,
                           const NumberList& extent) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  std::array<std::int64_t, kMaxDims> numbers{};
  if (!find_with_list(call, name, block, extent, &variable, &numbers, &status)) return status;
  const Result<void> set = variables_.set_extent(variable, variables_.block(variable, block),
                                                 numbers.data(), extent.column_major);
  return set ? Status::OK : complain(call, set.error(), name);
}

Status Session::set_position(Call& call, const char* name, std::uint32_t block,
                             const NumberList& position) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  std::array<std::int64_t, kMaxDims> numbers{};
  if (!find_with_list(call, name, block, position, &variable, &numbers, &status)) return status;
  variables_.set_position(variable, variables_.block(variable, block), numbers.data());
  return Status::OK;
}

Status Session::write_array(Call& call, const char* name, std::uint32_t block,
                            const leat_array* array) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!find_to_write(call, name, block, &variable, &status)) return status;
  if (!is_sound(array)) {
    return lose(call, variable,
                {Status::ERROR_ARGUMENT,
                 "the leat_array is NULL, its struct_size is not sizeof(leat_array), or its type "
                 "or number of dimensions is none"});
  }
  const ArrayView view = view_of(*array);
  Error error;
  const CallersWords words{array->type_name, array->column_major != 0};
  const BlockShape* known =
      variables_.adopt(variable, variables_.block(variable, block), view, words, &error);
  if (!known) return lose(call, variable, error);
  return write_from(call, name, variable, block, *known, {view.data, &view});
}

Status Session::alloc_array(Call& call, const char* name, std::uint32_t block, leat_array* array) {
  if (!array || array->struct_size < sizeof(leat_array)) {
    return complain(call,
                    {Status::ERROR_ARGUMENT,
                     "the leat_array is NULL, or its struct_size is not sizeof(leat_array)"},
                    "");
  }
  void* data = nullptr;
  array->data = nullptr;
  const Status status = alloc(call, name, block, &data, array->column_major != 0);
  if (status != Status::OK) return status;
  const auto variable = static_cast<std::uint32_t>(variables_.find(name));
  Error error;
  const BlockShape* shape = variables_.shape(variable, variables_.block(variable, block), &error);
  describe(*shape, variables_.type(variable), data, array);
  return status;
}

}  // namespace leat::client

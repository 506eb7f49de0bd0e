// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/packing.hpp"

#include <algorithm>
#include <cstring>

#include "client-api/api/leat_build.h"
#include "lib/os/crc32c.hpp"

namespace leat::client {
namespace {

// The same array with as few dimensions as its strides allow; the last one is what one inner loop
// copies.
struct Loops {
  std::uint32_t dims = 0;
  std::array<std::int64_t, kMaxDims> extent{}, stride{};
};

Loops merged(const ArrayView& view) {
  Loops loops;
  for (std::uint32_t d = 0; d < view.dims; ++d) {
    if (view.extent[d] == 1) continue;
    const bool continues =
        loops.dims > 0 && loops.stride[loops.dims - 1] == view.extent[d] * view.stride[d];
    if (continues) {
      loops.extent[loops.dims - 1] *= view.extent[d];
      loops.stride[loops.dims - 1] = view.stride[d];
    } else {
      loops.extent[loops.dims] = view.extent[d];
      loops.stride[loops.dims++] = view.stride[d];
    }
  }
  return loops;
}

// A stride that the compiler knows is one that it can vectorise; every second element is the most
// frequent.
template <std::size_t Bytes, int Step>
void gather_every(char* to, const char* from, std::int64_t count) noexcept {
  constexpr std::int64_t size = Bytes, stride = size * Step;
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, from + i * stride, Bytes);
}

template <std::size_t Bytes>
void gather(char* to, const char* from, std::int64_t count, std::int64_t stride) noexcept {
  constexpr std::int64_t size = Bytes;
  if (stride == 2 * size) return gather_every<Bytes, 2>(to, from, count);
  if (stride == -size) return gather_every<Bytes, -1>(to, from, count);
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, from + i * stride, Bytes);
}

bool is_dense(std::int64_t stride, std::size_t bytes) noexcept {
  return stride == static_cast<std::int64_t>(bytes);
}

void gather_row(char* to, const char* from, std::int64_t count, std::int64_t stride,
                std::size_t bytes) noexcept {
  switch (bytes) {
    case 1:
      return gather<1>(to, from, count, stride);
    case 2:
      return gather<2>(to, from, count, stride);
    case 4:
      return gather<4>(to, from, count, stride);
    case 8:
      return gather<8>(to, from, count, stride);
    default:
      return gather<16>(to, from, count, stride);
  }
}

struct PlainCopy {
  void row(char* to, const char* from, std::int64_t count, std::int64_t stride,
           std::size_t bytes) noexcept {
    if (!is_dense(stride, bytes)) return gather_row(to, from, count, stride, bytes);
    std::memcpy(to, from, static_cast<std::size_t>(count) * bytes);
  }
};

// Long rows are summed up by their copy; others once enough of them have been gathered, while they
// are still in the first cache.
class SummedCopy {
 public:
  explicit SummedCopy(char* start) : summed_(start) {}

  void row(char* to, const char* from, std::int64_t count, std::int64_t stride,
           std::size_t bytes) noexcept {
    const std::size_t length = static_cast<std::size_t>(count) * bytes;
    if (is_dense(stride, bytes) && length >= kLongRow) {
      sum_up_to(to);
      sum_ = os::copy_crc32c(to, from, length, sum_);
      summed_ = to + length;
      return;
    }
    // In pieces: a single row may be the whole array.
    const auto most = static_cast<std::int64_t>(kGathered / bytes);
    for (std::int64_t done = 0; done < count; done += most) {
      const std::int64_t part = std::min(most, count - done);
      PlainCopy().row(to, from + done * stride, part, stride, bytes);
      to += part * static_cast<std::int64_t>(bytes);
      if (static_cast<std::size_t>(to - summed_) >= kGathered) sum_up_to(to);
    }
  }

  std::uint32_t sum_of_all_up_to(const char* end) noexcept {
    sum_up_to(end);
    return sum_;
  }

 private:
  static constexpr std::size_t kLongRow = 1024, kGathered = 8192;

  void sum_up_to(const char* end) noexcept {
    sum_ = os::crc32c(summed_, static_cast<std::size_t>(end - summed_), sum_);
    summed_ = end;
  }

  const char* summed_;
  std::uint32_t sum_ = 0;
};

template <class Copy>
char* copy_loops(char* to, const char* from, const Loops& loops, std::uint32_t d, std::size_t bytes,
                 Copy& copy) noexcept {
  const std::int64_t count = loops.extent[d];
  if (d + 1 == loops.dims) {
    copy.row(to, from, count, loops.stride[d], bytes);
    return to + count * static_cast<std::int64_t>(bytes);
  }
  for (std::int64_t i = 0; i < count; ++i)
    to = copy_loops(to, from + i * loops.stride[d], loops, d + 1, bytes, copy);
  return to;
}

// Returns the end of the copy.
template <class Copy>
char* copy_all(char* to, const ArrayView& view, Copy& copy) noexcept {
  for (std::uint32_t d = 0; d < view.dims; ++d) {
    if (view.extent[d] == 0) return to;
  }
  const std::size_t bytes = scalar_bytes(view.type);
  const char* const from = static_cast<const char*>(view.data);
  const Loops loops = merged(view);
  if (loops.dims > 0) return copy_loops(to, from, loops, 0, bytes, copy);
  copy.row(to, from, 1, static_cast<std::int64_t>(bytes), bytes);
  return to + bytes;
}

}  // namespace

void pack(void* to, const ArrayView& from) noexcept {
  PlainCopy copy;
  copy_all(static_cast<char*>(to), from, copy);
}

std::uint32_t pack_with_checksum(void* to, const ArrayView& from) noexcept {
  SummedCopy copy(static_cast<char*>(to));
  return copy.sum_of_all_up_to(copy_all(static_cast<char*>(to), from, copy));
}

static_assert(LEAT_MAX_DIMS == kMaxDims);

leat_array array_in_c_order(const void* data, std::int32_t type, std::int32_t dims,
                            const std::int64_t* extents) {
  leat_array array{};
  array.struct_size = sizeof array;
  array.data = const_cast<void*>(data);
  array.type = type;
  array.dims = dims;
  auto stride = static_cast<std::int64_t>(scalar_bytes(static_cast<ScalarType>(type)));
  for (std::int32_t d = std::min(dims, LEAT_MAX_DIMS) - 1; extents && d >= 0; --d) {
    array.extent[d] = extents[d];
    array.stride[d] = stride;
    if (__builtin_mul_overflow(stride, extents[d], &stride)) stride = 0;
  }
  return array;
}

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

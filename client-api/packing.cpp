// SPDX-License-Identifier: Apache-2.0
#include "client-api/packing.hpp"

#include <cstring>

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

void copy_row(char* to, const char* from, std::int64_t count, std::int64_t stride,
              std::size_t bytes) noexcept {
  if (stride == static_cast<std::int64_t>(bytes)) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * bytes);
    return;
  }
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

char* copy(char* to, const char* from, const Loops& loops, std::uint32_t d,
           std::size_t bytes) noexcept {
  const std::int64_t count = loops.extent[d];
  if (d + 1 == loops.dims) {
    copy_row(to, from, count, loops.stride[d], bytes);
    return to + count * static_cast<std::int64_t>(bytes);
  }
  for (std::int64_t i = 0; i < count; ++i)
    to = copy(to, from + i * loops.stride[d], loops, d + 1, bytes);
  return to;
}

}  // namespace

void pack(void* to, const ArrayView& from) noexcept {
  for (std::uint32_t d = 0; d < from.dims; ++d) {
    if (from.extent[d] == 0) return;
  }
  const std::size_t bytes = scalar_bytes(from.type);
  const Loops loops = merged(from);
  if (loops.dims == 0) {
    std::memcpy(to, from.data, bytes);
    return;
  }
  copy(static_cast<char*>(to), static_cast<const char*>(from.data), loops, 0, bytes);
}

}  // namespace leat::client

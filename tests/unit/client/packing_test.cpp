// SPDX-License-Identifier: Apache-2.0
// The packing copy against the slowest one that can be written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "client-api/session/packing.hpp"
#include "lib/os/crc32c.hpp"

namespace leat::client {
namespace {

std::vector<char> one_by_one(const ArrayView& view) {
  const std::size_t bytes = scalar_bytes(view.type);
  std::vector<char> packed;
  std::array<std::int64_t, kMaxDims> index{};
  for (std::uint32_t d = 0; d < view.dims; ++d) {
    if (view.extent[d] == 0) return packed;
  }
  for (;;) {
    const char* at = static_cast<const char*>(view.data);
    for (std::uint32_t d = 0; d < view.dims; ++d) at += index[d] * view.stride[d];
    packed.insert(packed.end(), at, at + bytes);
    std::uint32_t d = view.dims;
    while (d > 0 && ++index[d - 1] == view.extent[d - 1]) index[--d] = 0;
    if (d == 0) return packed;
  }
}

TEST(Pack, AnySectionOfAnyTypeInAnyOrder) {
  std::mt19937 random(7);
  // From its middle a section reaches 16 bytes * (2 * 5)^5 to either side, at most.
  std::vector<char> memory(4 << 20);
  for (char& byte : memory) byte = static_cast<char>(random());
  const auto pick = [&random](int low, int high) {
    return low + static_cast<int>(random() % (high - low + 1));
  };
  for (int round = 0; round < 2000; ++round) {
    ArrayView view;
    view.type = static_cast<ScalarType>(pick(1, 13));
    view.dims = static_cast<std::uint32_t>(pick(0, 5));
    std::int64_t stride = static_cast<std::int64_t>(scalar_bytes(view.type));
    for (std::uint32_t d = view.dims; d-- > 0;) {
      view.extent[d] = pick(0, 20) == 0 ? 0 : pick(1, 5);
      view.stride[d] = stride * pick(1, 2) * (pick(0, 3) == 0 ? -1 : 1);
      stride = std::abs(view.stride[d]) * std::max<std::int64_t>(1, view.extent[d]);
    }
    for (std::uint32_t d = view.dims; d > 1; --d) {
      if (pick(0, 2) == 0) {  // Fortran's order, or a transposed view
        std::swap(view.extent[d - 1], view.extent[d - 2]);
        std::swap(view.stride[d - 1], view.stride[d - 2]);
      }
    }
    view.data = memory.data() + memory.size() / 2;
    const std::vector<char> expected = one_by_one(view);
    std::vector<char> packed(expected.size() + 1, 'x');
    pack(packed.data(), view);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), packed.begin())) << "round " << round;
    ASSERT_EQ(packed.back(), 'x') << "wrote too much in round " << round;
    std::vector<char> summed(expected.size() + 1, 'x');
    ASSERT_EQ(pack_with_checksum(summed.data(), view), os::crc32c(expected.data(), expected.size()))
        << "round " << round;
    ASSERT_EQ(summed, packed) << "round " << round;
  }
}

// Rows long enough to be summed up by their copy, between others and alone.
TEST(Pack, ChecksumOfRowsOfAnyLength) {
  std::mt19937 random(8);
  std::vector<char> memory(1 << 20);
  for (char& byte : memory) byte = static_cast<char>(random());
  for (int round = 0; round < 300; ++round) {
    ArrayView view;
    view.type = round % 2 == 0 ? ScalarType::float64 : ScalarType::uint8;
    const auto bytes = static_cast<std::int64_t>(scalar_bytes(view.type));
    view.dims = 2;
    view.extent = {static_cast<std::int64_t>(random() % 8 + 1),
                   static_cast<std::int64_t>(random() % 4000 + 1)};
    view.stride = {16000 * bytes, bytes * (round % 3 == 0 ? 3 : 1)};
    view.data = memory.data() + random() % 8;
    const std::vector<char> expected = one_by_one(view);
    std::vector<char> packed(expected.size());
    ASSERT_EQ(pack_with_checksum(packed.data(), view), os::crc32c(expected.data(), expected.size()))
        << "round " << round;
    ASSERT_EQ(packed, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace leat::client

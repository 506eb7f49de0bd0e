// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/datasets/direct_chunks.hpp"

namespace leat::hdf5 {
namespace {

// Elements of the array in memory before the first that is meant.
std::uint64_t first_element(const MemoryPart& memory) {
  std::uint64_t at = 0;
  for (std::size_t d = 0; d < memory.extents.size(); ++d)
    at = at * memory.extents[d] + memory.start[d];
  return at;
}

// Part of an array that is all of it but for its slowest dimensions.
bool is_contiguous(const Shape& whole, const Shape& part) {
  bool longer_in_front = false;  // a dimension in front of this one is longer than 1
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (longer_in_front && part[d] != whole[d]) return false;
    longer_in_front = longer_in_front || part[d] > 1;
  }
  return true;
}

}  // namespace

bool is_whole_chunks(const Shape& chunk, const Shape& start, const Shape& count,
                     const MemoryPart& memory) {
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    if (start[d] % chunk[d] != 0 || count[d] % chunk[d] != 0) return false;
  }
  return !chunk.empty() && product(count) > 0 && is_contiguous(count, chunk) &&
         is_contiguous(memory.extents, memory.count);
}

void write_whole_chunks(hid_t dataset, const Shape& chunk, const Shape& start, const Shape& count,
                        const void* data, const MemoryPart& memory, std::size_t element) {
  const auto* from = static_cast<const char*>(data) + first_element(memory) * element;
  const std::size_t bytes = product(chunk) * element;
  Shape at = start;
  while (true) {
    check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at.data(), bytes, from), "cannot write a chunk");
    from += bytes;
    // The next one, the last dimension first.
    std::size_t d = at.size();
    while (d > 0 && (at[d - 1] += chunk[d - 1]) == start[d - 1] + count[d - 1]) {
      at[d - 1] = start[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/datasets/chunks.hpp"

#include <algorithm>

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

const std::string kWhat = "cannot clear the last rows of a dataset";

std::vector<std::uint8_t> fill_value_of(hid_t creation, hid_t type) {
  std::vector<std::uint8_t> fill(H5Tget_size(type));
  check(H5Pget_fill_value(creation, type, fill.data()), kWhat);
  return fill;
}

// From byte `from` of the chunk on.
void clear_chunk(hid_t dataset, const Shape& at, std::vector<std::uint8_t>* data, std::size_t from,
                 const std::vector<std::uint8_t>& fill) {
  hsize_t stored = 0;
  if (H5Dget_chunk_storage_size(dataset, at.data(), &stored) < 0 || stored == 0) {
    innermost_error();
    return;  // nothing was written there
  }
  std::uint32_t filters = 0;
  check(H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &filters, data->data()), kWhat);
  for (std::size_t i = from; i < data->size(); i += fill.size())
    std::copy(fill.begin(), fill.end(), data->begin() + static_cast<std::ptrdiff_t>(i));
  check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at.data(), data->size(), data->data()), kWhat);
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
  Shape at = start, behind_start = zeros(start);
  do {
    for (std::size_t d = 0; d < at.size(); ++d) at[d] = start[d] + behind_start[d];
    check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at.data(), bytes, from), "cannot write a chunk");
    from += bytes;
  } while (next_piece(count, chunk, &behind_start));
}

void clear_behind(hid_t dataset, hsize_t rows) {
  const Id creation(H5Dget_create_plist(dataset), kWhat), type(H5Dget_type(dataset), kWhat);
  const Shape extents = extents_of(dataset), chunk = chunk_of(creation);
  Shape at = zeros(extents);
  // A compressed chunk has one row.
  if (rows % chunk[0] == 0 || H5Pget_nfilters(creation) > 0 || product(extents) == 0) return;
  at[0] = rows / chunk[0] * chunk[0];
  const std::vector<std::uint8_t> fill = fill_value_of(creation, type);
  std::vector<std::uint8_t> data(product(chunk) * fill.size());
  const std::size_t from = (rows - at[0]) * (data.size() / chunk[0]);
  do {
    clear_chunk(dataset, at, &data, from, fill);
  } while (next_piece(extents, chunk, &at, 1));
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/datasets/stale_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/shape.hpp"

namespace leat::hdf5 {
namespace {

const std::string kWhat = "cannot clear the last rows of a dataset";

// The next one in the same rows; false after the last.
bool next_chunk(const Shape& extents, const Shape& chunk, Shape* at) {
  for (std::size_t d = extents.size(); --d > 0;) {
    (*at)[d] += chunk[d];
    if ((*at)[d] < extents[d]) return true;
    (*at)[d] = 0;
  }
  return false;
}

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
  } while (next_chunk(extents, chunk, &at));
}

}  // namespace leat::hdf5

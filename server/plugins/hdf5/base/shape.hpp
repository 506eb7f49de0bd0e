// SPDX-License-Identifier: Apache-2.0
// Extents and places, one number for each dimension.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

using Shape = std::vector<hsize_t>;

/// {first, rest...}
inline Shape joined(hsize_t first, const Shape& rest) {
  Shape all{first};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

/// Without the first `most` dimensions.
inline Shape behind(const Shape& shape, std::size_t most = 1) {
  return Shape(shape.begin() + static_cast<std::ptrdiff_t>(std::min(most, shape.size())),
               shape.end());
}

/// As many zeros as `like` has dimensions.
inline Shape zeros(const Shape& like) { return Shape(like.size(), 0); }

/// The next of the pieces of `step` that `extents` is made of, the last dimension first. Those before
/// dimension `first` stay; false after the last.
inline bool next_piece(const Shape& extents, const Shape& step, Shape* at, std::size_t first = 0) {
  for (std::size_t d = extents.size(); d-- > first;) {
    (*at)[d] += step[d];
    if ((*at)[d] < extents[d]) return true;
    (*at)[d] = 0;
  }
  return false;
}

/// "(2, 3)"
template <class Numbers>
std::string listed(const Numbers& numbers) {
  std::string text = "(";
  for (const auto number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + ")";
}

inline std::uint64_t product(const Shape& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

/// Of an open dataset. `most`, when given, gets what they may grow to.
inline Shape extents_of(hid_t dataset, Shape* most = nullptr) {
  const char what[] = "cannot read the extents of a dataset";
  const Id space(H5Dget_space(dataset), what);
  Shape extents(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space), what)));
  if (most) most->resize(extents.size());
  check(H5Sget_simple_extent_dims(space, extents.data(), most ? most->data() : nullptr), what);
  return extents;
}

/// Extents of the chunks that a list for the creation of a dataset speaks of; empty: it has none.
inline Shape chunk_of(hid_t creation) {
  const char what[] = "cannot read the chunks of a dataset";
  if (H5Pget_layout(creation) != H5D_CHUNKED) return {};
  Shape chunk(static_cast<std::size_t>(check(H5Pget_chunk(creation, 0, nullptr), what)));
  check(H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), what);
  return chunk;
}

}  // namespace leat::hdf5

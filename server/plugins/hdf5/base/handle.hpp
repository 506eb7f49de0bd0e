// SPDX-License-Identifier: Apache-2.0
// HDF5 ids that close themselves, errors that say what HDF5 said, and extents of datasets.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leat::hdf5 {

/// What the innermost function on HDF5's error stack said, e.g. "file write failed: No space left
/// on device"; clears it.
std::string innermost_error();

/// Keeps HDF5 from printing errors. It is a setting of the thread, and calls may come from several.
void be_quiet();

/// `what` failed: throws it together with HDF5's reason.
[[noreturn]] void fail(const std::string& what);

/// Negative results of HDF5 are errors.
template <class T>
T check(T result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

/// An open HDF5 object of any kind.
class Id {
 public:
  Id() = default;
  Id(hid_t id, const std::string& what) : id_(check(id, what)) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Id& operator=(Id&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Id() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  operator hid_t() const { return id_; }
  /// Leaves closing it to the caller.
  hid_t take() { return std::exchange(id_, H5I_INVALID_HID); }
  bool is_open() const { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

// Extents and places, one number for each dimension.

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

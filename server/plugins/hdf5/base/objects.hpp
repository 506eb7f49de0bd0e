// SPDX-License-Identifier: Apache-2.0
// HDF5 ids that close themselves, and what is in an HDF5 file: objects and their names, attributes, types of elements.
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

// Objects of an HDF5 file, their names, and parts of datasets.

/// For making files and groups: their members are known in the order in which they were made.
/// Without that netCDF opens a file for reading only. Groups that are made for a path have it from
/// the one above them.
Id file_creation();
Id group_creation();
/// For making an object under a path, of UTF-8: groups above it are made too.
Id link_creation();
/// A second name for what is there.
void link_hard(hid_t file, const std::string& there, const std::string& name);
void move_link(hid_t file, const std::string& from, const std::string& to);
/// Whether `file` has something of this name, which may be a path.
bool is_in(hid_t file, const std::string& name);
/// Whether that is a dataset.
bool is_dataset(hid_t file, const std::string& name);
/// Names of what is in `group`, but for soft links; `and_below`: and in groups in it, as paths.
std::vector<std::string> names_in(hid_t group, bool and_below);

/// Where an object of a file is: what it is known by under each of its names.
haddr_t address_of(hid_t object);
Id open_dataset(hid_t file, const std::string& name);
/// Extents of a dataset that is in `file`.
Shape extents_in(hid_t file, const std::string& name);

/// Text of UTF-8, of so many bytes or of H5T_VARIABLE.
Id text_type(std::size_t bytes);
/// Of one element when there are no extents. `most`: what they may grow to.
Id space_of(const Shape& extents, const Shape& most = {});
/// The space of a dataset with `count` elements from `start` on selected.
Id part_of(hid_t dataset, const Shape& start, const Shape& count, const std::string& what);
/// Reads them, as `type` in memory.
void read_part(hid_t dataset, hid_t type, const Shape& start, const Shape& count, void* to,
               const std::string& what);

// Attributes of HDF5 objects.

bool has_attribute(hid_t object, const std::string& name);
/// Nothing when there is none.
void remove_attribute(hid_t object, const std::string& name);

/// Text attribute, of UTF-8, its bytes in the object itself: what netCDF calls NC_CHAR. Tools that
/// know no other text (NCO, ncdump -t) read it, and so does who must not touch the heap of a file
/// in which damage makes the HDF5 library search for ever. Only one of more than 60,000 bytes lies in
/// the heap. One that is there is replaced; those of numbers are changed in place.
void set_attribute(hid_t object, const char* name, const std::string& value);
void set_attribute(hid_t object, const char* name, const char* value);
void set_attribute(hid_t object, const char* name, std::int64_t value);
void set_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values);
void set_attribute(hid_t object, const char* name, const std::vector<std::int8_t>& values);
void set_attribute(hid_t object, const char* name, const std::vector<double>& values);
/// "_FillValue" as netCDF has it: one value of the dataset's own type.
void set_fill_attribute(hid_t dataset, hid_t type, const std::vector<std::uint8_t>& fill);

/// Value of a text in the object itself; "" when there is none, or of another kind.
std::string fixed_attribute(hid_t object, const char* name);
/// Value of an attribute that is a whole number, or `otherwise` when there is none.
std::int64_t integer_attribute(hid_t object, const char* name, std::int64_t otherwise);
/// The numbers of a list.
std::vector<double> numbers_attribute(hid_t object, const char* name);
/// Value of a text attribute; throws when it is none.
std::string text_attribute(hid_t object, const char* name);
/// The same, or `otherwise` when there is none.
std::string text_attribute(hid_t object, const char* name, const std::string& otherwise);

// Leat's element types in HDF5.

/// Type in memory and in the file, which are the same, so that nothing is converted. Complex
/// numbers are compounds of "r" and "i", as h5py and most others read them; LEAT_CHAR is a string
/// of one byte.
Id type_of(std::uint32_t leat_scalar);

/// What stands in a dataset where nobody wrote: NaN, the least signed or the greatest unsigned
/// number, '\0'. So large a number is seen to be no data; 0 would not be. One element of the type.
std::vector<std::uint8_t> fill_value(std::uint32_t leat_scalar);

}  // namespace leat::hdf5

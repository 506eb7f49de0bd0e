// SPDX-License-Identifier: Apache-2.0
// A chunked dataset that grows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/handle.hpp"

namespace leat::hdf5 {

using Shape = std::vector<hsize_t>;

/// {first, rest...}
inline Shape joined(hsize_t first, const Shape& rest) {
  Shape all{first};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

/// As many zeros as `like` has dimensions.
inline Shape zeros(const Shape& like) { return Shape(like.size(), 0); }

/// "(2, 3)"
template <class Numbers>
std::string listed(const Numbers& numbers) {
  std::string text = "(";
  for (const auto number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + ")";
}

/// How a dataset is made.
struct DatasetPlan {
  Shape extents;            ///< at the start
  std::vector<bool> grows;  ///< per dimension: may become larger later
  Shape chunk;              ///< all at least 1
  int deflate = 0;          ///< 0: not compressed
  std::uint64_t cache_bytes =
      0;  ///< of the chunk cache; 0: what is written goes to the file at once
  std::vector<std::uint8_t> fill;
};

/// Of one dimension that grows, and has `length` at the start.
DatasetPlan growing_list(hsize_t length = 0);

/// Where a piece lies in memory: an array of `extents`, of which `count` elements from `start` are
/// meant.
struct MemoryPart {
  Shape extents, start;
};

class Dataset {
 public:
  Dataset() = default;
  /// Creates it, with the groups above it. A scalar has no extents, and no chunks.
  Dataset(hid_t file, const std::string& name, hid_t type, const DatasetPlan& plan);

  /// Makes each extent that may grow at least that long. Never shrinks.
  void grow_to(const Shape& extents);
  /// Writes `count` elements from `start` on; they are dense in memory.
  void write(const Shape& start, const Shape& count, const void* data);
  /// The same from a part of an array in memory: no copy is made.
  void write(const Shape& start, const Shape& count, const void* data, const MemoryPart& memory);

  /// Names dimension `d` by a dimension scale, which grows with it. The scale must outlive this
  /// object.
  void attach_scale(std::size_t d, Dataset& scale);
  /// Names the first dimension by the scale of the iterations, which does not grow with it: a row
  /// of that says that all of the iteration is in the file.
  void attach_iterations(const Dataset& scale);

  /// Names dimensions by labels too: those whose scale is called otherwise, since a scale's name
  /// stands for one length only.
  void label(const std::vector<std::string>& names);

  const Shape& extents() const { return extents_; }
  const std::string& name() const { return name_; }
  hid_t id() const { return id_; }
  bool exists() const { return id_.is_open(); }

 private:
  Id id_, type_;
  std::string name_;
  Shape extents_;
  std::vector<bool> grows_;
  std::vector<std::pair<std::size_t, Dataset*>> scales_;  // that grow with a dimension
};

/// Text attribute, of UTF-8.
void set_attribute(hid_t object, const char* name, const std::string& value);
void set_attribute(hid_t object, const char* name, std::int64_t value);
void set_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values);
/// "_FillValue" as netCDF has it: one value of the dataset's own type.
void set_fill_attribute(hid_t dataset, hid_t type, const std::vector<std::uint8_t>& fill);

/// Chunk for one iteration of `extents` elements of `bytes` each, the iteration dimension first:
/// small arrays are bundled over iterations up to 64 KiB, large ones are split along their slowest
/// dimensions to at most 2 MiB.
Shape chunk_of_iterations(const Shape& extents, std::uint64_t bytes);
/// Chunk for rows of `extents` that are appended by the thousand: as many as go into 256 KiB, so
/// that a run with few of them has a small file.
Shape chunk_of_rows(const Shape& extents, std::uint64_t bytes);

}  // namespace leat::hdf5

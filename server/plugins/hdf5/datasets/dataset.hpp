// SPDX-License-Identifier: Apache-2.0
// Datasets that grow, their chunks, and whole numbers in them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {

// Chunks that go to the file as they are. HDF5's own way through a new chunk copies it once more,
// because of the fill value that it would need where nobody writes.

/// Where a piece lies in memory: an array of `extents`, of which `count` elements from `start` are
/// meant.
struct MemoryPart {
  Shape extents, start, count;
};

/// Whether the piece of `count` elements from `start` of a dataset is made of whole chunks, each of
/// which lies in memory in one piece, one behind the other.
bool is_whole_chunks(const Shape& chunk, const Shape& start, const Shape& count,
                     const MemoryPart& memory);

/// Writes such a piece into an open dataset without filters; `element` is the size of one. Throws
/// what HDF5 says.
void write_whole_chunks(hid_t dataset, const Shape& chunk, const Shape& start, const Shape& count,
                        const void* data, const MemoryPart& memory, std::size_t element);

/// Behind `rows` rows, which are all that `dataset` has, there are fill values after this: what a
/// killed writer left in chunks that have room for rows to come would be seen where nobody writes
/// later.
void clear_behind(hid_t dataset, hsize_t rows);

// A chunked dataset that grows. Whoever names one that is in the file already goes on with it:
// there is one way to get it, for a new file and for one that a writer before this one has begun.

/// Bytes up to which rows are bundled into one chunk, in a file of so many datasets that grow: what
/// all of them have too much behind their last rows is small beside the file.
std::uint64_t bundle_for(std::uint64_t datasets);

/// How a dataset is made, when it is not there.
struct DatasetPlan {
  Shape extents;            ///< at the start
  std::vector<bool> grows;  ///< per dimension: may become larger later
  Shape chunk;              ///< all at least 1; none for one that does not grow, in one piece
  Compression compression;
  std::vector<std::uint8_t> fill;
};

/// Of one number per iteration, or a like list: it grows from `length`, so many rows at a time.
DatasetPlan growing_list(hsize_t length = 0, hsize_t rows = 512);

class Dataset {
 public:
  Dataset() = default;
  /// Opens what is there.
  Dataset(hid_t file, const std::string& name);
  /// The same; or creates it, with the groups above it. A scalar has no extents, and no chunks.
  /// Throws when what is there has another type or number of dimensions; texts may be of another
  /// length.
  Dataset(hid_t file, const std::string& name, hid_t type, const DatasetPlan& plan);

  /// Makes each extent that may grow at least that long. Never shrinks.
  void grow_to(const Shape& extents);
  /// As long as its scales are by now, which may name other datasets too: netCDF's library reads
  /// wrong values of one that is shorter.
  void grow_to_scales();
  /// Writes `count` elements from `start` on; they are dense in memory.
  void write(const Shape& start, const Shape& count, const void* data);
  /// The same from a part of an array in memory, of as many elements in the same order: no copy is
  /// made.
  void write(const Shape& start, const Shape& count, const void* data, const MemoryPart& memory);
  /// Reads `count` elements from `start` on, as they are in the file.
  void read(const Shape& start, const Shape& count, void* data) const;

  /// Names dimension `d` by a dimension scale, which grows with it. The scale must outlive this
  /// object.
  void attach_scale(std::size_t d, Dataset& scale);
  /// Names the first dimension by the scale of the iterations, which does not grow with it: a row
  /// of that says that all of the iteration is in the file. What a writer before this one left
  /// behind the rows of that is gone after this.
  void attach_iterations(Dataset& scale, hsize_t rows);
  /// Names the first dimension by a scale that grows with it and has `records` of which something is
  /// said: what a writer before this one left behind them is gone after this.
  void attach_records(Dataset& scale, hsize_t records);
  /// Names dimension `d` by another scale from now on, which grows with it.
  void change_scale(std::size_t d, const Dataset& before, Dataset& scale);
  /// The scale of dimension `d` when that has become longer than its scale may, else null.
  const Dataset* outgrown(std::size_t d) const;
  /// As a scale: writes down which datasets have been named by it since.
  void list_named() { named_.write(id_); }
  /// Address of the scale that dimension `d` has, HADDR_UNDEF for none.
  haddr_t scale_of(std::size_t d) const;

  /// Of what a writer before this one left there are so many rows; the rest is cut off, and what may
  /// be behind them in the file becomes fill value.
  void truncate_rows(hsize_t rows);
  /// False when it was in the file before.
  bool is_new() const { return is_new_; }
  const Shape& extents() const { return extents_; }
  bool may_grow(std::size_t d) const { return grows_[d]; }
  /// Of the first dimension; 1 where chunks are compressed.
  hsize_t rows_of_chunk() const { return chunk_.empty() ? 1 : chunk_[0]; }
  hid_t type() const { return type_; }
  const std::string& name() const { return name_; }
  hid_t id() const { return id_; }
  bool exists() const { return id_.is_open(); }

 private:
  void open(hid_t file);
  void create(hid_t file, hid_t type, const DatasetPlan& plan);
  void expect_like(hid_t type, const DatasetPlan& plan) const;
  void be_named(std::size_t d, Dataset& scale, const std::string& what);

  Id id_, type_;
  std::string name_;
  bool is_new_ = false;
  Shape extents_;
  Shape chunk_;  // none when it has no chunks, or filters
  std::vector<bool> grows_;
  std::vector<std::pair<std::size_t, Dataset*>> scales_;  // that grow with a dimension
  NamedByScale named_;
};

/// Names dimensions by labels too: those whose scale is called otherwise, since a scale's name stands
/// for one length only.
void set_labels(const Dataset& dataset, const std::vector<std::string>& names);
void set_label(const Dataset& dataset, std::size_t d, const std::string& name);

/// Chunk for one iteration of `extents` elements of `bytes` each, the iteration dimension first:
/// small arrays are bundled over iterations up to `bundle` bytes, large ones are split along their
/// slowest dimensions into pieces of at most 2 MiB, equal ones where that is possible.
Shape chunk_of_iterations(const Shape& extents, std::uint64_t bytes, std::uint64_t bundle);
/// Compressed chunk of one iteration: split along the slowest dimensions into pieces of at most
/// 512 KiB, equal ones where that is possible.
Shape chunk_of_compressed(const Shape& extents, std::uint64_t bytes);
/// In a chunk of a list of records of `bytes` each, of which `at_once` come together, and as many
/// `again` and again, or not: then a chunk has all of them, else few beside what comes at once, so
/// that what the last chunk has too much is little. At most 2 MiB.
hsize_t records_in_chunk(std::uint64_t bytes, hsize_t at_once, bool again);
/// The same when chunks are compressed: some for each time, which are written once where as many come
/// each time; at most 512 KiB.
hsize_t records_in_compressed(std::uint64_t bytes, hsize_t at_once);
/// A chunk of one record of `extents` that is larger than such a chunk may be: a part of it.
Shape part_of_record(const Shape& extents, std::uint64_t bytes, bool compressed);

// Integers that the store itself writes. They have 32 bits in the file, the most that CF-1.8 knows;
// 64 where a number needs them already when the dataset is made. Writing what does not fit is an
// error, not another number. Source: CF Conventions 1.8, section 2.2, "Data Types".

/// Type for a dataset of such numbers: the one that it has when it is in the file, else one that
/// has room for `largest`.
Id number_type(hid_t file, const std::string& name, std::int64_t largest = 0);
/// `value` as an element of `type`, which number_type() gave.
std::vector<std::uint8_t> number_bytes(hid_t type, std::int64_t value);

/// Whether `value` can be stored in `dataset`.
bool has_room_for(const Dataset& dataset, std::int64_t value);
/// Throws when not.
void expect_room_for(const Dataset& dataset, std::int64_t value);
/// As Dataset::write(); throws before anything is written when one of them does not fit.
void write_numbers(Dataset& dataset, const Shape& start, const Shape& count,
                   const std::vector<std::int64_t>& numbers);
/// As Dataset::read().
std::vector<std::int64_t> read_numbers(const Dataset& dataset, const Shape& start,
                                       const Shape& count);

}  // namespace leat::hdf5

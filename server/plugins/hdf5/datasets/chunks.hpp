// SPDX-License-Identifier: Apache-2.0
// Chunks that go to the file as they are. HDF5's own way through a new chunk copies it once more,
// because of the fill value that it would need where nobody writes.
#pragma once

#include "server/plugins/hdf5/base/shape.hpp"

namespace leat::hdf5 {

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

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Blocks on their way to a dataset in which they lie one behind the other along its first dimension.
// A call of HDF5 costs as much as the copy of some 64 KiB: small ones go with those beside them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

class Neighbours {
 public:
  /// Of a dataset that outlives this, and of which each block has all but the first dimension, or
  /// is written alone.
  explicit Neighbours(Dataset* to);
  /// `count` elements from `start` on, from a part of an array in memory. Throws when just this could
  /// not be written.
  void add(const Shape& start, const Shape& count, const void* data, const MemoryPart& memory);
  /// Nothing is written for certain before. Throws when some of those that went together were not.
  void flush();

 private:
  void write_waiting();
  bool fits(const Shape& start, const Shape& count, std::uint64_t bytes) const;

  Dataset& to_;
  std::uint64_t element_;
  hsize_t first_ = 0, waiting_ = 0;  // of the first dimension
  std::vector<char> values_;
  std::string failed_;
};

}  // namespace leat::hdf5

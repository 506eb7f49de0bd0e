// SPDX-License-Identifier: Apache-2.0
// What HDF5 needs of a file: places for its pieces, and their bytes. CommittedFile is the one that
// stores write; tests have others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat::hdf5 {

/// Functions that return int return 0 or the errno of what failed, and throw nothing but what runs
/// out of memory. One thread at a time.
class File {
 public:
  virtual ~File() = default;
  /// Gives away `bytes` at *address, which were never given away before. `bulk`: values of arrays;
  /// else structures that say where those are.
  virtual int allocate(std::uint64_t bytes, bool bulk, std::uint64_t* address) = 0;
  /// Moves the end of what is given away.
  virtual int set_end(std::uint64_t end) = 0;
  virtual std::uint64_t end() const = 0;
  /// Bytes that may be in the file; at least end().
  virtual std::uint64_t size() const = 0;
  virtual int read(std::uint64_t address, void* to, std::size_t bytes) = 0;
  virtual int write(std::uint64_t address, const void* from, std::size_t bytes, bool bulk) = 0;
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Room on the disk is taken before HDF5 is asked to write: a file whose metadata speak of more than
// could be written is one that nobody can open any more.
#pragma once

#include <cstdint>
#include <string>

namespace leat::hdf5 {

class DiskSpace {
 public:
  explicit DiskSpace(const std::string& path);
  DiskSpace(const DiskSpace&) = delete;
  ~DiskSpace();

  /// Makes sure that the file can grow to `end` bytes. Throws when the disk has no room for that;
  /// the file is as it was. On file systems that cannot reserve (NFS before 4.2) it does nothing.
  /// HDF5 cuts the file to its own end when it closes it.
  void ensure(std::uint64_t end);

 private:
  int fd_;
  std::uint64_t reserved_ = 0;
};

}  // namespace leat::hdf5

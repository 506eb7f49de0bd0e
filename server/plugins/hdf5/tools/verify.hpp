// SPDX-License-Identifier: Apache-2.0
// Whether an HDF5 file is what its checksums say: those of its structures, and of data that have
// some, by a filter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leat::hdf5 {

struct Verified {
  std::vector<std::string> damage{};  ///< what cannot be read, with the reason
  std::uint64_t with_checksum = 0;    ///< bytes of data that were read and are as they were written
  std::uint64_t without = 0;          ///< bytes of data of which nobody can know
};

/// Reads all structures, and all data that have a checksum. Throws when the file cannot be opened.
Verified verify(const std::string& path);

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Whether an HDF5 file is what its checksums say: those of its structures, and of data that have
// some, by a filter.
#pragma once

#include <string>
#include <vector>

namespace leat::hdf5 {

/// Reads all structures, and all data that have a checksum: what cannot be read, with the reason.
/// Throws when the file cannot be opened.
std::vector<std::string> damage_in(const std::string& path);

}  // namespace leat::hdf5

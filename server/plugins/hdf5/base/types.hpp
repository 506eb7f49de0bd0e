// SPDX-License-Identifier: Apache-2.0
// Leat's element types in HDF5.
#pragma once

#include <cstdint>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// Type in memory and in the file, which are the same, so that nothing is converted. Complex
/// numbers are compounds of "r" and "i", as h5py and most others read them; LEAT_CHAR is a string
/// of one byte.
Id type_of(std::uint32_t leat_scalar);

/// What stands in a dataset where nobody wrote: NaN, the least signed or the greatest unsigned
/// number, '\0'. So large a number is seen to be no data; 0 would not be. One element of the type.
std::vector<std::uint8_t> fill_value(std::uint32_t leat_scalar);

}  // namespace leat::hdf5

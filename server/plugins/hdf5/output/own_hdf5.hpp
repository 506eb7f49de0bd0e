// SPDX-License-Identifier: Apache-2.0
// In the simulation's process the HDF5 library may be the simulation's too, and most builds of it
// are for one thread.
#pragma once

#include <string>

#include "server/include/plugin.h"

namespace leat::hdf5 {

/// Why it cannot be used: threads that are not ours may be in the same HDF5 library, which is not
/// thread-safe. "": it can.
std::string why_not_own_hdf5(const leat_run& run);

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// What stands for the time of each row: the simulation's, where it has said one, else the number
/// of the iteration. `iterations`: those numbers.
std::vector<double> times_of_rows(hid_t file, const std::vector<std::int64_t>& iterations);

}  // namespace leat::hdf5

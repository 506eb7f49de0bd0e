// SPDX-License-Identifier: Apache-2.0
// Reads the tables that a store has written beside the values: of a part, a view or a whole file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/shape.hpp"

namespace leat::hdf5 {

/// All integers of a dataset; `extents`, when given, gets its shape.
std::vector<std::int64_t> integers_of(hid_t file, const std::string& name,
                                      Shape* extents = nullptr);
/// Name of what stands beside a variable, "<variable><suffix>" with '_' behind it where that is a
/// variable too; "" when the file has none.
std::string table_of(hid_t file, const std::string& variable, const std::string& suffix);
/// Name of the coordinate that iterations have: their times; "" for none.
std::string coordinate_of_rows(hid_t file);
/// What stands for the time of each row: the simulation's, where it has said one, else the number
/// of the iteration. `iterations`: those numbers.
std::vector<double> times_of_rows(hid_t file, const std::vector<std::int64_t>& iterations);

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Going on in the file of an earlier run (append="true"): whether it is one of the same model, and what of it is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/output/stored_rows.hpp"

namespace leat::hdf5 {

/// What makes a file of an earlier run none that `run` can go on in: variables, meshes, time. All of it; none: it can.
std::vector<std::string> differences(hid_t file, const leat_run& run);

/// Of meshes that have a place in both.
std::vector<std::string> differences_of_places(const leat_run& file, const leat_run& run);

/// The same as the first of what is known with the first iteration only: where meshes lie, global extents, parameters.
std::vector<std::string> differences(hid_t file, const StoredRows& stored, const leat_run& run,
                                     const leat_iteration_data& first);

/// "cannot append to run.h5, it is of another model: ...": all of them, a line each.
std::string refusal(const std::string& path, const std::vector<std::string>& differences);

/// What is not as the first `blocks` of it say; "" when they are in the file already, to the last bit.
std::string changed_constant(const StoredIteration& stored, const leat_variable& variable,
                             const std::vector<const leat_block*>& blocks);

/// Whether the iteration has nothing but what does not vary in time, and the file at `path` has that to the last bit: with such a one no
/// run begins to go on in the file, so nothing of it is cut off.
bool has_known_constants_alone(const std::string& path, const leat_run& run,
                               const leat_iteration_data& data);

}  // namespace leat::hdf5

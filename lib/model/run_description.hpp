// SPDX-License-Identifier: Apache-2.0
// The run description as JSON: what a variable, mesh, store and parameter is, for all who are told
// of it in a text: scripts, `leat check` and `leat replay`. The attribute leat_run of a file of the
// hdf5 store has the same keys, made of the plugin ABI.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/model/model.hpp"

namespace leat::model {

/// What is as most are is left out: thousands of variables are described. Variables, meshes and
/// parameters are by number; a variable names its mesh, and a mesh its variables, by that.
nlohmann::json described(const Model& model);

}  // namespace leat::model

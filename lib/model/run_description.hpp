// SPDX-License-Identifier: Apache-2.0
// The run description as JSON: what a variable, mesh, store and parameter is, for all who are told
// of it in a text: scripts, `leat check`, `leat replay`, `leat ls` and the control channel. The
// attribute leat_run of a file of the hdf5 store has the same keys, made of the plugin ABI.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/model/model.hpp"

namespace leat::model {

/// What is as most are is left out: thousands of variables are described. Variables, meshes and
/// parameters are by number; a variable names its mesh, and a mesh its variables, by that.
nlohmann::json described(const Model& model);

/// The same for those who do not have Leat's numbers: in words of the XML, with `unit`,
/// `description`, `shape` and `dimensions` also where there is nothing to say; meshes and variables
/// are named. Users have these keys: they may become more.
nlohmann::json in_words(const Model& model);
nlohmann::json in_words(const Model& model, const Variable& variable);
nlohmann::json in_words(const Store& store);
/// Null without one.
nlohmann::json in_words(const ParameterValue& value);

}  // namespace leat::model

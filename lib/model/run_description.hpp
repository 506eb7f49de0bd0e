// SPDX-License-Identifier: Apache-2.0
// The run as JSON: once for scripts, which have Leat's numbers, and once for users, in the words of the XML.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/model/model.hpp"

namespace leat::model {

/// For scripts. What has its default is left out: thousands of variables are described. Variables, meshes and parameters have
/// their numbers; a variable names its mesh, and a mesh its variables, by these.
nlohmann::json to_json_for_scripts(const Model& model);

/// For users: in words of the XML, with `unit`, `description`, `shape` and `dimensions` also where there is nothing to say; meshes
/// and variables are named. Users have these keys: they may become more.
nlohmann::json to_json(const Model& model);
nlohmann::json to_json(const Model& model, const Variable& variable);
nlohmann::json to_json(const Store& store);
/// Null without one.
nlohmann::json to_json(const ParameterValue& value);

}  // namespace leat::model

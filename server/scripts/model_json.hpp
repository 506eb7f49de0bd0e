// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/model/model.hpp"

namespace leat::server {

/// The model as the Python side wants it: variables with their dimensions, parameters.
nlohmann::json model_as_json(const model::Model& model);

}  // namespace leat::server

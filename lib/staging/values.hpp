// SPDX-License-Identifier: Apache-2.0
// Values of parameters, as frames have them.
#pragma once

#include <nlohmann/json.hpp>

#include "lib/base/scalar.hpp"

namespace leat::staging {

/// JSON of a value that is set, and back; bits of reals stay as they are. value_in() throws json::exception.
nlohmann::json json_of(const ParameterValue& value);
ParameterValue value_in(const nlohmann::json& said);

}  // namespace leat::staging

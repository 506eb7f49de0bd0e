// SPDX-License-Identifier: Apache-2.0
// Pictures of commands, as --plot says. Python draws them, with matplotlib.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/base/status.hpp"

namespace leat::command {

/// `tool` of python-plugins/launch.py gets `what`, with "file" in it.
Result<void> draw(const std::string& tool, nlohmann::ordered_json what, const std::string& file,
                  const std::string& interpreter);

}  // namespace leat::command

// SPDX-License-Identifier: Apache-2.0
// A change of the graph of a run while it goes on: its plan is written anew, and read by all servers as any plan.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace leat::server {

struct GraphEdit {
  std::string plan;                              ///< path of the file
  nlohmann::json add = nlohmann::json::array();  ///< modules; those of the same name are replaced
  std::string remove{};                          ///< the name of one
};

/// "", or why the file stays as it is.
std::string written(const GraphEdit& edit);

}  // namespace leat::server

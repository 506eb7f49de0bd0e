// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/python_tools.hpp"

#include "lib/platform/process.hpp"
#include "lib/platform/run_program.hpp"

namespace leat::server {

std::string python_launcher() {
  return platform::path_beside_program(LEAT_PYTHON_FOLDER "/launch.py");
}

Result<std::string> run_python_tool(const std::string& interpreter, const std::string& tool,
                                    const std::string& input, double seconds) {
  return platform::run_program({interpreter, python_launcher(), tool}, input,
                               static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/python_tools.hpp"

#include <filesystem>

#include "lib/platform/process.hpp"
#include "lib/platform/run_program.hpp"

namespace leat::server {

std::string python_launcher() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(platform::executable_path()).parent_path();
  return (folder / LEAT_PYTHON_FOLDER / "launch.py").lexically_normal().string();
}

Result<std::string> run_python_tool(const std::string& interpreter, const std::string& tool,
                                    const std::string& input, double seconds) {
  return platform::run_program({interpreter, python_launcher(), tool}, input,
                               static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace leat::server

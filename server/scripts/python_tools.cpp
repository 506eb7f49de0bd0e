// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/python_tools.hpp"

#include <filesystem>

#include "lib/platform/process.hpp"
#include "lib/platform/run_program.hpp"

namespace leat::server {

std::string python_launcher() {
  return platform::path_beside_program(LEAT_PYTHON_FOLDER "/launch.py");
}

Result<std::string> find_python(const std::string& interpreter, const std::string& packages) {
  const std::string python = platform::find_program(interpreter);
  if (python.empty())
    return Error{Status::ERROR_SYSTEM, "there is no program \"" + interpreter +
                                           "\": install Python 3 with " + packages +
                                           ", or say --interpreter /path/to/python3"};
  if (!std::filesystem::exists(python_launcher()))
    return Error{Status::ERROR_SYSTEM, "this Leat was built with LEAT_PYTHON=OFF"};
  return python;
}

Result<std::string> run_python_tool(const std::string& interpreter,
                                    const std::vector<std::string>& words, const std::string& input,
                                    double seconds) {
  std::vector<std::string> all{interpreter, python_launcher()};
  all.insert(all.end(), words.begin(), words.end());
  return platform::run_program(all, input, static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace leat::server

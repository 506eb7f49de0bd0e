// SPDX-License-Identifier: Apache-2.0
#include "server/command/picture.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/os/process.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::command {
namespace {

constexpr double kDrawingSeconds = 120;

Error cannot_plot(const std::string& why) { return {Status::ERROR_SYSTEM, "--plot: " + why}; }

}  // namespace

Result<void> draw(const std::string& tool, nlohmann::ordered_json what, const std::string& file,
                  const std::string& interpreter) {
  const std::string python = platform::find_program(interpreter);
  if (python.empty())
    return cannot_plot("there is no program \"" + interpreter +
                       "\": install Python 3 with matplotlib, or say --interpreter "
                       "/path/to/python3");
  if (!std::filesystem::exists(server::python_launcher()))
    return cannot_plot("this Leat was built with LEAT_PYTHON=OFF; --json has the figures");
  what["file"] = file;
  const std::string text =
      what.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const Result<std::string> drawn = server::run_python_tool(python, tool, text, kDrawingSeconds);
  return drawn ? Result<void>{} : cannot_plot(drawn.error().message);
}

}  // namespace leat::command

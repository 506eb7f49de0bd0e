// SPDX-License-Identifier: Apache-2.0
#include "server/command/picture.hpp"

#include <nlohmann/json.hpp>

#include "server/scripts/python_tools.hpp"

namespace leat::command {
namespace {

constexpr double kDrawingSeconds = 120;

Error cannot_plot(const std::string& why) { return {Status::ERROR_SYSTEM, "--plot: " + why}; }

}  // namespace

Result<void> draw(const std::string& tool, nlohmann::ordered_json what, const std::string& file,
                  const std::string& interpreter) {
  const Result<std::string> python = server::find_python(interpreter, "matplotlib");
  if (!python) return cannot_plot(python.error().message + "; --json has the figures");
  what["file"] = file;
  const std::string text =
      what.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const Result<std::string> drawn = server::run_python_tool(*python, {tool}, text, kDrawingSeconds);
  return drawn ? Result<void>{} : cannot_plot(drawn.error().message);
}

}  // namespace leat::command

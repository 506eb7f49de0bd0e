// SPDX-License-Identifier: Apache-2.0
// The picture of `leat predict`. The work is done in Python: python-plugins/leat/prediction_plot.py.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/platform/process.hpp"
#include "server/command/predict_report.hpp"
#include "server/scripts/python_tools.hpp"

namespace leat::command {
namespace {

constexpr double kDrawingSeconds = 120;

Error cannot_plot(const std::string& why) { return {Status::ERROR_SYSTEM, "--plot: " + why}; }

}  // namespace

Result<void> plot(const PredictReport& report, const std::string& file,
                  const std::string& interpreter) {
  const std::string python = platform::find_program(interpreter);
  if (python.empty())
    return cannot_plot("there is no program \"" + interpreter +
                       "\": install Python 3 with matplotlib, or say --interpreter "
                       "/path/to/python3");
  if (!std::filesystem::exists(server::python_launcher()))
    return cannot_plot("this Leat was built with LEAT_PYTHON=OFF; --json has the figures");
  nlohmann::ordered_json input = nlohmann::ordered_json::parse(json(report));
  input["file"] = file;
  const Result<std::string> drawn =
      server::run_python_tool(python, "plot-prediction", input.dump(), kDrawingSeconds);
  return drawn ? Result<void>{} : cannot_plot(drawn.error().message);
}

}  // namespace leat::command

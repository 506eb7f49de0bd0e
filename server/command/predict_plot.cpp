// SPDX-License-Identifier: Apache-2.0
// The picture of `leat predict`, drawn by python-plugins/leat/prediction_plot.py.
#include <nlohmann/json.hpp>

#include "server/command/picture.hpp"
#include "server/command/predict_report.hpp"

namespace leat::command {

Result<void> plot(const PredictReport& report, const std::string& file,
                  const std::string& interpreter) {
  return draw("plot-prediction", nlohmann::ordered_json::parse(json(report)), file, interpreter);
}

}  // namespace leat::command

// SPDX-License-Identifier: Apache-2.0
// The picture of `leat plan`, drawn by python-plugins/leat/plan_plot.py: how long an iteration takes in
// each way over how much is computed beside the output, and the run over dedicated cores.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/command/picture.hpp"
#include "server/command/plan_input.hpp"

namespace leat::command {
namespace {

using Json = nlohmann::ordered_json;
using plan::Load;
using plan::Way;

// Of computing over output: at least from here to there, and to twice as far as this run is.
constexpr double kLeastRatio = 0.25, kMostRatio = 4;
constexpr int kPoints = 120;
// More cores than this are not marked one by one.
constexpr std::int64_t kMostMarked = 128;

// The mean over the run, which has a begin and an end.
double mean_of_run(const Load& load, const Way& way) {
  return way.total / static_cast<double>(load.iterations);
}

Json over_ratios(const Load& load, const Way& way, double from, double to) {
  Json points = Json::array();
  Load other = load;
  for (int i = 0; i <= kPoints; ++i) {
    const double ratio = from * std::pow(to / from, static_cast<double>(i) / kPoints);
    other.compute = ratio * (load.output + load.analysis);
    points.push_back({ratio, mean_of_run(other, plan::again(way, other))});
  }
  return points;
}

Json over_cores(const Load& load) {
  Json points = Json::array();
  const std::int64_t step = std::max<std::int64_t>(1, load.cores / kMostMarked);
  for (std::int64_t k = 1; k < load.cores; k += step)
    points.push_back({k, plan::dedicated(load, k).total});
  return points;
}

std::string title(const PlanInput& input) {
  const Load& load = input.load;
  return input.simulation + ": " + counted(static_cast<std::uint64_t>(load.cores), "core") +
         " of a node, computing " + format_seconds(load.compute) + " with " +
         std::to_string(load.computing) + ", output and analysis " +
         format_seconds(load.output + load.analysis) + ", " +
         counted(static_cast<std::uint64_t>(load.iterations), "iteration");
}

}  // namespace

Result<void> plot(const PlanInput& input, const std::string& file, const std::string& interpreter) {
  const Load& load = input.load;
  const double served = load.output + load.analysis;
  if (served <= 0 || load.compute <= 0)
    return Error{Status::ERROR_CONFIG,
                 "--plot: an iteration " +
                     std::string(served <= 0 ? "has no output" : "computes nothing") +
                     ": all ways are alike, and there is nothing to draw"};
  const double ratio = load.compute / served;
  const double from = std::min(kLeastRatio, ratio / 2), to = std::max(kMostRatio, ratio * 2);
  Json what{{"title", title(input)}, {"ratio", ratio}, {"lines", Json::array()}};
  const std::vector<Way> ways = plan::ways(load);
  const Way& best = plan::best(ways);
  for (const Way& way : ways) {
    what["lines"].push_back({{"name", plan::name_of(way)},
                             {"dedicated_cores", way.dedicated},
                             {"best", &way == &best},
                             {"iteration_seconds", mean_of_run(load, way)},
                             {"total_seconds", way.total},
                             {"over_ratios", over_ratios(load, way, from, to)}});
  }
  what["over_cores"] = over_cores(load);
  return draw("plot-plan", std::move(what), file, interpreter);
}

}  // namespace leat::command

// SPDX-License-Identifier: Apache-2.0
#include "server/report/mode_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"

namespace leat::server {
namespace {

using Figures = ModeChoice::Figures;

std::string why(const ModeChoice::Decision& decision) {
  const Figures& waiting = *decision.waiting;
  const std::string shares =
      fmt::format("(computing {}, output {})", format_seconds(waiting.computing),
                  format_seconds(waiting.output));
  if (decision.overlapping)
    return fmt::format(
        "an iteration took {} beside the output of the one before, {} when ranks waited {}",
        format_seconds(decision.overlapping->whole), format_seconds(waiting.whole), shares);
  return fmt::format(
      "an iteration took {} when ranks waited, and the other way has next to nothing to "
      "gain {}",
      format_seconds(waiting.whole), shares);
}

nlohmann::json figures_json(const std::optional<Figures>& figures) {
  if (!figures) return nullptr;
  return {{"iteration_seconds", figures->whole},
          {"compute_seconds", figures->computing},
          {"output_seconds", figures->output}};
}

}  // namespace

std::string in_words(const ModeChoice::Decision& decision) {
  return fmt::format("from iteration {} on ranks {}: {}", decision.since,
                     decision.overlaps ? "compute on while the server works"
                                       : "wait for all that wants their output",
                     why(decision));
}

nlohmann::json json_of(const std::optional<ModeChoice::Decision>& decision) {
  if (!decision) return {{"decided", nullptr}};
  return {{"decided", decision->overlaps ? "async" : "sync"},
          {"since_iteration", decision->since},
          {"changes", decision->changes},
          {"why", why(*decision)},
          {"sync", figures_json(decision->waiting)},
          {"async", figures_json(decision->overlapping)}};
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The part of `leat check` that looks at cores and memory nodes.
#include "server/command/check_report.hpp"
#include "server/command/placement_report.hpp"

namespace leat::command {

void check_placement(CheckReport& report) {
  const CheckOptions& asked = report.options;
  if (asked.machine.empty()) return;
  PlacementOptions options;
  options.machine = asked.machine;
  if (asked.ranks || asked.per_node) options.ranks = report.per_node;
  const Result<PlacementReport> placed = report_placement(options, report.model->architecture);
  const auto say = [&](model::Severity severity, const std::string& text) {
    report.diagnostics.push_back({severity, {asked.file, 0, 0}, text});
  };
  if (!placed) return say(model::Severity::error, placed.error().message);
  for (const std::string& line : placed->warnings) say(model::Severity::warning, line);
  report.server_place = servers_text(*placed);
  report.memory_place = memory_text(*placed);
}

std::string placement_text(const CheckReport& report, const Look& look) {
  if (report.server_place.empty()) return "";
  return "\n" + painted("Placement on " + report.options.machine, Paint::bold, look.colours) +
         "\n" +
         table({{{"server"}, {report.server_place}}, {{"buffer"}, {report.memory_place}}}, look);
}

}  // namespace leat::command

// SPDX-License-Identifier: Apache-2.0
#include "server/report/run_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/report/advice.hpp"
#include "server/report/mode_report.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

// At work, wherever a core was there for it.
double per_iteration(const std::vector<WorkDone>& all, const RunReport& report) {
  double seconds = 0;
  for (const WorkDone& each : all) seconds += each.seconds - each.without_core.value_or(0);
  return report.iterations > 0 ? seconds / static_cast<double>(report.iterations) : 0;
}

double computed(const RunReport& report) {
  return std::max(0.0, report.times.seconds - report.times.inside);
}

int percent(double share) { return static_cast<int>(share * 100 + 0.5); }

json json_of(const std::vector<WorkDone>& all) {
  json list = json::array();
  for (const WorkDone& each : all) {
    list.push_back({{"name", each.name}, {"calls", each.calls}, {"seconds", each.seconds}});
    if (each.without_core) list.back()["without_core_seconds"] = *each.without_core;
    if (each.use) list.back()[name_of(*each.use)] = json_of(*each.use);
  }
  return list;
}

}  // namespace

plan::Measured measured_of(const RunReport& report) {
  return {.compute = computed(report),
          .inside = report.times.inside,
          .output = per_iteration(report.stores, report),
          .analysis = per_iteration(report.scripts, report),
          .ranks = report.ranks,
          .iterations = static_cast<std::int64_t>(report.iterations),
          .is_shared = report.is_shared,
          .is_synchronous = report.synchronous};
}

json json_of(const RunReport& report) {
  const plan::Measured run = measured_of(report);
  return {{"leat_report", 1},
          {"simulation", report.simulation},
          {"session", report.session},
          {"ranks", report.ranks},
          {"dedicated_cores", report.cores},
          {"cores_are_shared", report.is_shared},
          {"synchronous", report.synchronous},
          {"mode", report.automatic ? json_of(report.mode) : json(nullptr)},
          {"since_takeover", report.since_takeover},
          {"iterations", report.iterations},
          {"iteration_seconds", report.times.seconds},
          {"iteration_deviation_seconds", report.times.deviation},
          {"iteration_longest_seconds", report.times.longest},
          {"compute_seconds", computed(report)},
          {"inside_seconds", report.times.inside},
          {"store_seconds", run.output},
          {"script_seconds", run.analysis},
          {"stores", json_of(report.stores)},
          {"scripts", json_of(report.scripts)},
          {"server_idle_share", report.server_busy ? json(1 - *report.server_busy) : json(nullptr)},
          {"bytes", report.bytes},
          {"buffer_bytes", report.buffer_bytes},
          {"buffer_most_used_bytes", report.most_used_bytes},
          {"buffer_wait_seconds", report.waited_for_memory},
          {"measured_seconds", report.seconds},
          {"expected_seconds", plan::expected_seconds(run)},
          {"advice", advice(report)}};
}

std::vector<std::string> lines_of(const RunReport& report) {
  const plan::Measured run = measured_of(report);
  std::string times = fmt::format(
      "an iteration took {} (deviation {}, longest {}): computing {}, in Leat's calls {}; "
      "beside it stores {}",
      format_seconds(report.times.seconds), format_seconds(report.times.deviation),
      format_seconds(report.times.longest), format_seconds(computed(report)),
      format_seconds(report.times.inside), format_seconds(run.output));
  if (!report.scripts.empty()) times += ", scripts " + format_seconds(run.analysis);
  std::string server =
      fmt::format("the buffer held {} of {} at most", format_bytes(report.most_used_bytes),
                  format_bytes(report.buffer_bytes));
  if (report.server_busy)
    server +=
        fmt::format("; the server's {} idle {} %", report.cores == 1 ? "core was" : "cores were",
                    percent(1 - *report.server_busy));
  server +=
      fmt::format("; all in {}, the iterations by the model in {}", format_seconds(report.seconds),
                  format_seconds(plan::expected_seconds(run)));
  return {times, server};
}

}  // namespace leat::server

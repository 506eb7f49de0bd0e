// SPDX-License-Identifier: Apache-2.0
#include "server/engine/run_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "lib/base/text.hpp"

namespace leat::plan {
namespace {

double served(const Measured& run) { return run.output + run.analysis; }

// Without what ranks waited for in their calls.
double own_inside(const Measured& run) {
  return run.is_synchronous ? std::max(0.0, run.inside - served(run)) : run.inside;
}

// The first iteration is computed before anything can be stored, the last one is stored when nothing
// is computed any more.
double overlapped(const Measured& run, double computed, double iteration) {
  return computed + served(run) + static_cast<double>(run.iterations - 1) * iteration;
}

// Without what analyses took of the ranks' cores, as if ranks had left none idle.
double shared_seconds(const Measured& run) {
  const auto cores = static_cast<double>(run.ranks);
  const double compute = std::max(0.0, run.compute - run.analysis / cores);
  const double computed = compute + run.inside, work = compute + run.analysis / cores;
  return overlapped(run, computed, std::max({computed, served(run), work}));
}

}  // namespace

double expected_seconds(const Measured& run) {
  if (run.is_synchronous)
    return (run.compute + own_inside(run) + served(run)) * static_cast<double>(run.iterations);
  return run.is_shared ? shared_seconds(run) : overlapped_seconds(run);
}

double overlapped_seconds(const Measured& run) {
  const double computed = run.compute + own_inside(run);
  return overlapped(run, computed, std::max(computed, served(run)));
}

}  // namespace leat::plan

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
          {"run_id", report.run_id},
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
      "an iteration took {} on average (deviation {}, longest {}): your code {}, Leat's calls {}; "
      "in parallel, the server needed {} for stores",
      format_seconds(report.times.seconds), format_seconds(report.times.deviation),
      format_seconds(report.times.longest), format_seconds(computed(report)),
      format_seconds(report.times.inside), format_seconds(run.output));
  if (!report.scripts.empty()) times += ", " + format_seconds(run.analysis) + " for scripts";
  std::string server =
      fmt::format("the buffer held {} of {} at most", format_bytes(report.most_used_bytes),
                  format_bytes(report.buffer_bytes));
  if (report.server_busy)
    server +=
        fmt::format("; the server's {} idle {} %", report.cores == 1 ? "core was" : "cores were",
                    percent(1 - *report.server_busy));
  server +=
      fmt::format("; the run took {}; the model of leat plan gives {}",
                  format_seconds(report.seconds), format_seconds(plan::expected_seconds(run)));
  return {times, server};
}

namespace {

// In shorter runs the start, first touches and the closing of files count.
constexpr double kLongEnoughSeconds = 10;
constexpr double kWorthSaying = 0.1;
// A model that is further off from what was measured is right about no other way either.
constexpr double kModelIsOff = 0.15;

// In seconds.
struct PerIteration {
  double whole = 0, computed = 0, served = 0;
};

// The store or script that works longest.
struct Slowest {
  std::string name;
  const char* quote = "";  // around numbers, where its `every` is written
  double per_call = 0, per_iteration = 0;
};

std::optional<Slowest> slowest_of(const RunReport& report) {
  std::optional<Slowest> found;
  const auto look = [&](const std::vector<WorkDone>& all, const char* kind, const char* quote) {
    for (const WorkDone& each : all) {
      const double seconds = each.seconds - each.without_core.value_or(0);
      const double per_iteration = seconds / static_cast<double>(report.iterations);
      if (each.calls == 0 || (found && found->per_iteration >= per_iteration)) continue;
      found = {fmt::format("{} \"{}\"", kind, each.name), quote,
               seconds / static_cast<double>(each.calls), per_iteration};
    }
  };
  look(report.stores, "store", "\"");
  look(report.scripts, "script", "");
  return found;
}

// Less often than now, so that what is left of an iteration beside all others is enough for it.
std::string call_less_often(const RunReport& report, const PerIteration& iteration) {
  const std::optional<Slowest> slowest = slowest_of(report);
  if (!slowest) return "";
  const double left = iteration.computed - (iteration.served - slowest->per_iteration);
  if (left <= 0) return "";
  const auto every = static_cast<std::uint64_t>(std::ceil(slowest->per_call / left));
  return fmt::format(
      "{0} takes {1} a call, and an iteration computes for {2}: with every={3}{4}{3} it "
      "keeps up, if you need it no more often",
      slowest->name, format_seconds(slowest->per_call), format_seconds(iteration.computed),
      slowest->quote, every);
}

// One that is written, and one that ranks fill.
bool has_room_for_two(const RunReport& report) {
  return report.buffer_bytes >= 2 * report.bytes / report.iterations;
}

std::string larger_buffer(const RunReport& report) {
  const std::uint64_t bytes = report.bytes / report.iterations;
  return fmt::format(
      "it has no room for two iterations of {}: <buffer size=\"{}\"> has, if the node has that "
      "memory",
      format_bytes(bytes), format_bytes(3 * bytes));
}

std::string for_full_buffer(const RunReport& report, const PerIteration& iteration) {
  const double waited = report.waited_for_memory / iteration.whole;
  if (waited < kWorthSaying) return "";
  std::string change;
  if (!has_room_for_two(report) &&
      std::min(iteration.computed, iteration.served) > kWorthSaying * iteration.whole)
    change = larger_buffer(report);
  else if (iteration.served > iteration.computed)
    change = call_less_often(report, iteration);
  if (change.empty()) return "";
  return fmt::format("ranks waited {:.0f} % of the time, as the buffer was full; {}", 100 * waited,
                     change);
}

// The server's core is idle while ranks compute, and they while it works.
std::string for_synchronous(const RunReport& report, const PerIteration& iteration) {
  if (report.is_shared || report.automatic || !has_room_for_two(report)) return "";
  const plan::Measured run = measured_of(report);
  const double was = plan::expected_seconds(run);
  if (std::abs(was / report.seconds - 1) > kModelIsOff) return "";
  const double gain = 1 - plan::overlapped_seconds(run) / was;
  if (gain < kWorthSaying) return "";
  return fmt::format(
      "ranks waited {:.0f} % of the time for the stores and scripts: with mode=\"async\" they "
      "compute "
      "meanwhile, and such a run takes about {:.0f} % less time, if computing is not slower beside "
      "output",
      100 * report.times.inside / iteration.whole, 100 * gain);
}

}  // namespace

std::string advice(const RunReport& report) {
  if (report.seconds < kLongEnoughSeconds || !report.all_went_well) return "";
  const IterationTimes::Figures& times = report.times;
  const plan::Measured run = measured_of(report);
  const PerIteration iteration{times.seconds, times.seconds - times.inside,
                               run.output + run.analysis};
  return report.synchronous ? for_synchronous(report, iteration)
                            : for_full_buffer(report, iteration);
}

}  // namespace leat::server

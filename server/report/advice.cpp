// SPDX-License-Identifier: Apache-2.0
#include "server/report/advice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/text.hpp"

namespace leat::server {
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

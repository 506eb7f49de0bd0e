// SPDX-License-Identifier: Apache-2.0
#include "server/cli/check_periods.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/model/every.hpp"

namespace leat::cli {
namespace {

constexpr double kShortestMonth = 28 * 86400.;

// Of the first phase, in which a run begins.
std::optional<double> seconds_of_first(const model::Every& every) {
  const model::Period& period = every.phases[0].period;
  if (const std::optional<double> seconds = model::seconds_of(period)) return seconds;
  if (!period.unit) return std::nullopt;
  const double count = static_cast<double>(period.count) / std::pow(10., period.decimals);
  return count * period.unit->months * kShortestMonth;
}

// "", or how long a run of this length would have to be.
std::string why_beyond(const model::Every& every, std::int64_t iterations,
                       const std::optional<double>& step) {
  if (every.phases.empty()) return "";
  const std::string run =
      "a run of " + counted(static_cast<std::uint64_t>(iterations), "iteration");
  if (every.clock == model::Every::Clock::iterations)
    return every.phases[0].period.count > iterations ? run + " ends before" : "";
  if (every.clock != model::Every::Clock::simulation || !step) return "";
  const double length = *step * static_cast<double>(iterations);
  const std::optional<double> period = seconds_of_first(every);
  return period && *period > length * (1 + 1e-9)
             ? run + " takes " + format_seconds(length) + " of its time, and ends before"
             : "";
}

// A warning for each period that does not end in the run, and for what the run has once only.
std::vector<model::Diagnostic> periods_beyond(const model::Model& model, std::int64_t iterations,
                                              const std::optional<double>& step) {
  std::vector<model::Diagnostic> all;
  const auto look = [&](const std::string& who, std::uint32_t period, bool is_over_time,
                        const model::SourceLocation& where) {
    const model::Every& every = model.periods[period];
    const std::string why = why_beyond(every, iterations, step);
    if (why.empty()) return;
    const std::string what = is_over_time ? "has nothing, as no period of every=\""
                                          : "has the first iteration alone, of every=\"";
    all.push_back(
        {model::Severity::warning, where,
         who + " " + what + to_text(every) + "\"" + (is_over_time ? " ends: " : ": ") + why});
  };
  for (const model::Variable& each : model.variables) {
    if (each.derived)
      look("variable \"" + each.name + "\"", each.derived->period, each.derived->is_over_time(),
           each.where);
    else if (each.period)
      look("variable \"" + each.name + "\"", *each.period, false, each.where);
  }
  for (const model::Store& each : model.stores) {
    if (each.due) look("store \"" + each.name + "\"", *each.due, false, each.where);
    if (!each.due && !each.awaits_event && each.every > iterations)
      all.push_back({model::Severity::warning, each.where,
                     "store \"" + each.name + "\" has the first iteration alone, of every=\"" +
                         each.when + "\": a run of " +
                         counted(static_cast<std::uint64_t>(iterations), "iteration") +
                         " ends before"});
  }
  return all;
}

}  // namespace

Result<void> check_length(CheckReport& report) {
  const CheckOptions& options = report.options;
  if (options.iterations == 0) return {};
  std::optional<double> step;
  if (!options.time_step.empty()) {
    const Result<model::Every> period = model::parse_every(options.time_step);
    if (period && period->phases.size() == 1) step = model::seconds_of(period->phases[0].period);
    if (!step)
      return Error{Status::ERROR_ARGUMENT, "--time-step \"" + options.time_step +
                                               "\" is no time of the simulation, like \"10 min\""};
  }
  for (model::Diagnostic& each : periods_beyond(*report.model, options.iterations, step))
    report.diagnostics.push_back(std::move(each));
  return {};
}

}  // namespace leat::cli

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

class Length {
 public:
  Length(std::int64_t iterations, const std::optional<double>& step)
      : iterations_(iterations),
        step_(step),
        run_("a run of " + counted(static_cast<std::uint64_t>(iterations), "iteration")) {}

  /// "", or why nothing of a period of so many iterations comes to its end.
  std::string why_beyond(std::int64_t count) const {
    return count > iterations_ ? run_ + " ends before" : "";
  }
  std::string why_beyond(const model::Every& every) const {
    if (every.phases.empty()) return "";
    if (every.clock == model::Every::Clock::iterations)
      return why_beyond(every.phases[0].period.count);
    if (every.clock != model::Every::Clock::simulation || !step_) return "";
    const double length = *step_ * static_cast<double>(iterations_);
    const std::optional<double> period = seconds_of_first(every);
    return period && *period > length * (1 + 1e-9)
               ? run_ + " takes " + format_seconds(length) + " of its time, and ends before"
               : "";
  }

 private:
  std::int64_t iterations_;
  std::optional<double> step_;
  std::string run_;
};

// A warning for each period that does not end in the run, and for what the run has once only.
std::vector<model::Diagnostic> periods_beyond(const model::Model& model, const Length& length) {
  std::vector<model::Diagnostic> all;
  const auto say = [&](const std::string& who, const std::string& what, const std::string& why,
                       const model::SourceLocation& where) {
    if (!why.empty())
      all.push_back({model::Severity::warning, where, who + " has " + what + ": " + why});
  };
  const auto look = [&](const std::string& who, std::uint32_t period, bool is_over_time,
                        const model::SourceLocation& where) {
    const model::Every& every = model.periods[period];
    const std::string text = "every=\"" + to_text(every) + "\"";
    say(who,
        is_over_time ? "nothing, as no period of " + text + " ends"
                     : "the first iteration alone, of " + text,
        length.why_beyond(every), where);
  };
  for (const model::Variable& each : model.variables) {
    const std::string who = "variable \"" + each.name + "\"";
    if (each.derived)
      look(who, each.derived->period, each.derived->is_over_time(), each.where);
    else if (each.period)
      look(who, *each.period, false, each.where);
  }
  for (const model::Store& each : model.stores) {
    const std::string who = "store \"" + each.name + "\"";
    if (each.due)
      look(who, *each.due, false, each.where);
    else if (!each.awaits_event)
      say(who, "the first iteration alone, of every=\"" + each.when + "\"",
          length.why_beyond(each.every), each.where);
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
  for (model::Diagnostic& each : periods_beyond(*report.model, {options.iterations, step}))
    report.diagnostics.push_back(std::move(each));
  return {};
}

}  // namespace leat::cli

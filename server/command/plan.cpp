// SPDX-License-Identifier: Apache-2.0
#include "server/command/plan.hpp"

#include <cstdio>
#include <memory>

#include "lib/os/limits.hpp"
#include "server/command/exit_codes.hpp"
#include "server/command/plan_input.hpp"
#include "server/command/terminal.hpp"

namespace leat::command {
namespace {

constexpr std::uint64_t kMeasured = 256 << 20;

int run_plan(const PlanOptions& options) {
  const Result<PlanInput> input = plan_input(options);
  if (!input) {
    std::fprintf(stderr, "leat plan: %s\n", input.error().message.c_str());
    return input.error().status == Status::ERROR_ARGUMENT ? kUsage : kBad;
  }
  const std::string text =
      options.json ? plan_json(*input) : plan_screen(*input, look_of(stdout).colours);
  std::fputs(text.c_str(), stdout);
  if (options.plot.empty()) return kGood;
  const Result<void> drawn = plot(*input, options.plot, options.interpreter);
  if (drawn) return kGood;
  std::fprintf(stderr, "leat plan: %s\n", drawn.error().message.c_str());
  return kBad;
}

void add_plan_options(CLI::App& verb, PlanOptions& options) {
  const CLI::Range count(std::int64_t{1}, std::int64_t{1} << 31);
  verb.add_option("FILE", options.file, "The XML of the simulation");
  verb.add_option("--from", options.from, "The report of a run: NAME.report.json");
  verb.add_option("--compute", options.compute, "That an iteration computes, like 50ms");
  verb.add_option("--ranks", options.ranks, "Ranks of a node that do so (default: 1)")
      ->check(count);
  verb.add_option("--cores", options.cores,
                  "Of a node (default: the ranks and the dedicated cores)")
      ->check(count);
  verb.add_option("--iterations", options.iterations, "Of the run (default: 1000, or as reported)")
      ->check(count);
  verb.add_option("--disk", options.disk, "What the disk takes from a node, like 1.2GiB/s");
  verb.add_option("--measure", options.measure,
                  "Writes 256 MiB into this folder, and takes its speed for --disk");
  verb.add_option("--analysis", options.analysis,
                  "That scripts and plugins compute in an iteration, on one core");
  verb.add_option("--parallel", options.parallel, "Cores that they can use (default: 1)")
      ->check(count);
  verb.add_option("--sequential", options.sequential,
                  "Percent of --compute that more cores do not make shorter (default: 0)")
      ->check(CLI::Range(0.0, 100.0));
  verb.add_option("--bytes", options.bytes,
                  "That a node hands over in an iteration (default: as the XML says)");
  verb.add_option("--set", options.set,
                  "name=value of an int parameter, as the simulation would set it; may be repeated")
      ->allow_extra_args(false);
  verb.add_option("--plot", options.plot,
                  "A picture: PNG, SVG or PDF; needs Python with matplotlib");
  verb.add_option("--interpreter", options.interpreter,
                  "Python with matplotlib, for --plot (default: python3 in PATH)");
  verb.add_flag("--json", options.json, "JSON on standard output, and nothing else");
}

}  // namespace

Result<double> measure_disk(const std::string& folder) {
  return platform::disk_speed(folder, kMeasured);
}

void add_plan(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* verb = app.add_subcommand(
      "plan", "Says how long a run would take, with dedicated cores, without, and in one go.");
  add_plan_options(*verb, *options);
  verb->footer(
      "Exit codes: 0 good; 1 the XML or the report is not good; 2 the command line is wrong, or "
      "something is not known.");
  verb->callback([options, &exit_code] { exit_code = run_plan(*options); });
}

}  // namespace leat::command

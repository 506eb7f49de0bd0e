// SPDX-License-Identifier: Apache-2.0
#include "server/command/placement.hpp"

#include <cstdio>
#include <memory>

#include "server/command/exit_codes.hpp"
#include "server/command/placement_report.hpp"
#include "server/command/terminal.hpp"

namespace leat::command {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "leat placement: %s\n", error.message.c_str());
  return error.status == Status::ERROR_ARGUMENT ? kUsage : kBad;
}

int describe(const PlacementOptions& options) {
  const Result<server::DescribedMachine> here = machine_of(options);
  if (!here) return fail(here.error());
  std::fputs(server::machine_json(*here).c_str(), stdout);
  return kGood;
}

int run_placement(const PlacementOptions& options) {
  if (options.describe) return describe(options);
  const Result<PlacementReport> report = report_placement(options);
  if (!report) return fail(report.error());
  std::fputs(options.json ? json(*report).c_str() : screen(*report, look_of(stdout)).c_str(),
             stdout);
  std::fflush(stdout);
  for (const std::string& line : report->warnings)
    std::fprintf(stderr, "%sleat placement: warning: %s\n", options.json ? "" : "\n", line.c_str());
  return kGood;
}

}  // namespace

void add_placement(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PlacementOptions>();
  CLI::App* verb = app.add_subcommand(
      "placement",
      "Shows on which cores ranks and server are, and on which memory nodes data lie.");
  verb->add_option("--machine", options->machine,
                   "A machine described as JSON (default: this one)");
  verb->add_option("--xml", options->xml,
                   "The XML of the simulation, for cores of <dedicated> and numa of <buffer>");
  CLI::Option* ranks =
      verb->add_option("--ranks", options->ranks,
                       "Ranks on the node (default: one for each core that is not the server's)")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  CLI::Option* bind =
      verb->add_option("--bind", options->bind,
                       "What the launcher binds a rank to: core (default), node or none")
          ->check(CLI::IsMember({"core", "node", "none"}));
  verb->add_option("--rank-cpus", options->rank_cpus,
                   "Processors of one rank, like 0-3; repeated for each rank of the node")
      ->allow_extra_args(false)
      ->excludes(ranks)
      ->excludes(bind);
  verb->add_flag("--describe", options->describe,
                 "The machine as JSON, for --machine, and nothing else");
  verb->add_flag("--json", options->json, "JSON on standard output, and nothing else");
  verb->footer(
      "Starts nothing. Exit codes: 0 good, warnings are possible; 1 the machine or the XML has "
      "errors; 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = run_placement(*options); });
}

}  // namespace leat::command

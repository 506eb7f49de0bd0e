// SPDX-License-Identifier: Apache-2.0
#include "server/command/launch.hpp"

#include <cstdio>
#include <memory>

#include "server/command/exec_program.hpp"
#include "server/command/exit_codes.hpp"
#include "server/command/launch_plan.hpp"
#include "server/command/launch_words.hpp"
#include "server/command/launchers_here.hpp"

namespace leat::command {
namespace {

constexpr const char* kVerb = "launch";

int refuse_launch(int exit_code, const std::string& why) {
  std::fprintf(stderr, "leat launch: %s\n", why.c_str());
  return exit_code;
}

// The one that is named, or that goes without saying.
std::optional<Launcher> wanted_launcher(const LaunchOptions& options) {
  return launcher_named(options.launcher.empty() && options.job == "slurm" ? "slurm"
                                                                           : options.launcher);
}

Result<Launcher> launcher_to_print(const LaunchOptions& options) {
  if (const std::optional<Launcher> wanted = wanted_launcher(options)) return *wanted;
  const Result<InstalledLauncher> found = find_launcher(std::nullopt);
  if (!found) return found.error();
  return found->launcher;
}

int print_launch(const LaunchOptions& options) {
  const Result<Launcher> launcher = launcher_to_print(options);
  if (!launcher) return refuse_launch(kBad, launcher.error().message);
  if (options.job == "pbs" && *launcher == Launcher::slurm)
    return refuse_launch(kUsage,
                         "srun starts nothing in a job of PBS; say --launcher openmpi or mpich");
  const Result<LaunchPlan> plan = plan_launch(options, *launcher);
  if (!plan) return refuse_launch(kBad, plan.error().message);
  const std::string line = shell_text(launch_words(*launcher, *plan));
  const std::string text = options.job.empty() ? line + "\n" : job_text(options.job, *plan, line);
  std::fputs(text.c_str(), stdout);
  return kGood;
}

int exec_launch(const LaunchOptions& options) {
  const Result<InstalledLauncher> found = find_launcher(wanted_launcher(options));
  if (!found) return refuse_launch(kBad, found.error().message);
  const Result<LaunchPlan> plan = plan_launch(options, found->launcher);
  if (!plan) return refuse_launch(kBad, plan.error().message);
  std::vector<std::string> words = launch_words(found->launcher, *plan);
  // By its bare name: Open MPI takes a path for a wish to have it at the same place on all nodes.
  words.front() = found->name;
  return exec_named(kVerb, found->path, words);
}

int run_launch(const LaunchOptions& options) {
  if (options.program.empty()) {
    return refuse_launch(kUsage, "what is to be started? Say it behind two dashes: leat launch " +
                                     options.xml + " -n " + std::to_string(options.ranks) +
                                     " -- ./simulation its arguments");
  }
  return options.run ? exec_launch(options) : print_launch(options);
}

void add_options(CLI::App& verb, LaunchOptions& options) {
  const CLI::Range count(std::int64_t{1}, std::int64_t{1} << 31);
  verb.add_option("CONFIG", options.xml, "The XML of the simulation")->required();
  verb.add_option("-n", options.ranks, "Ranks that compute, of all nodes")
      ->required()
      ->check(count);
  verb.add_option("--nodes", options.nodes, "Nodes to have them on (default: 1)")->check(count);
  verb.add_option("--launcher", options.launcher,
                  "openmpi, mpich or slurm (default: what is in PATH)")
      ->check(CLI::IsMember({"openmpi", "mpich", "slurm"}));
  verb.add_option("--machine", options.machines,
                  "A node described as JSON (default: this one); repeated for each kind of node")
      ->allow_extra_args(false);
  CLI::Option* job = verb.add_option("--job", options.job, "Print a job file: slurm or pbs")
                         ->check(CLI::IsMember({"slurm", "pbs"}));
  verb.add_flag("--run", options.run, "Start it, and print nothing")->excludes(job);
  verb.add_option("PROGRAM", options.program, "What to start, and its arguments, behind --");
}

}  // namespace

void add_launch(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<LaunchOptions>();
  CLI::App* verb = app.add_subcommand(
      kVerb, "Prints or runs the line of a launcher that leaves the server its cores.");
  add_options(*verb, *options);
  verb->footer(
      "Exit codes: 0 good; 1 the ranks do not fit, or the XML, a machine or the launcher is not "
      "good; 2 the command line is wrong. With --run those of the launcher.");
  verb->callback([options, &exit_code] { exit_code = run_launch(*options); });
}

}  // namespace leat::command

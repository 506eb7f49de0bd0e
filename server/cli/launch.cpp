// SPDX-License-Identifier: Apache-2.0
// `leat launch`: the command line or job file that starts a run and leaves the server its cores.

#include <memory>

#include "server/cli/launch_plan.hpp"
#include "server/cli/placement.hpp"
#include "server/cli/programs.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

constexpr const char* kVerb = "launch";
constexpr int kMostPretendedNodes = 200;  // as leat/planning/pretend.py has addresses for

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
  if (!launcher) return refuse(kVerb, launcher.error().message);
  if (!options.job.empty() && options.job != "slurm" && *launcher == Launcher::slurm) {
    return refuse(kVerb,
                  std::string("srun starts nothing in a job of ") +
                      (options.job == "pbs" ? "PBS" : "Grid Engine") +
                      "; say --launcher openmpi or mpich",
                  kUsage);
  }
  const Result<LaunchPlan> plan = plan_launch(options, *launcher);
  if (!plan) return refuse(kVerb, plan.error().message);
  print(options.job.empty() ? lines_of(*launcher, *plan) : job_text(options.job, *launcher, *plan));
  return kGood;
}

int exec_launch(const LaunchOptions& options) {
  const Result<InstalledLauncher> found = find_launcher(wanted_launcher(options));
  if (!found) return refuse(kVerb, found.error().message);
  const Result<LaunchPlan> plan = plan_launch(options, found->launcher);
  if (!plan) return refuse(kVerb, plan.error().message);
  if (plan->staging_nodes > 0) {
    return refuse(kVerb,
                  "--run starts one line, and <staging> of " + options.xml +
                      " wants nodes of its own: without --run both lines are printed; on this "
                      "machine alone --pretend-nodes starts all of it");
  }
  std::vector<std::string> words = launch_words(found->launcher, *plan);
  // By its bare name: Open MPI takes a path for a wish to have it at the same place on all nodes.
  words.front() = found->name;
  return exec_named(kVerb, found->path, words);
}

// On this machine as if it had several nodes: by python-plugins/leat/planning/pretend.py.
int pretend_launch(const LaunchOptions& options) {
  if (!options.run) {
    return refuse(kVerb, "--pretend-nodes is for runs on this machine, there is no line: add --run",
                  kUsage);
  }
  const Result<InstalledLauncher> found = find_launcher(Launcher::openmpi);
  if (!found) {
    return refuse(
        kVerb, "--pretend-nodes needs mpirun of Open MPI in PATH: load its module or install it");
  }
  const Result<model::Model> model = model_of(options.xml);
  if (!model) return refuse(kVerb, model.error().message);
  const Result<std::int64_t> ranks = ranks_of_node(options);
  if (!ranks) return refuse(kVerb, ranks.error().message);
  const std::int64_t dedicated = model->architecture.dedicated_cores;
  const bool in_ranks = model->architecture.place == model::Place::ranks;
  const std::int64_t more = in_ranks ? dedicated : 0, nodes = options.pretended_nodes;
  const model::StagingFields& staging = model->architecture.staging;
  const std::int64_t set_aside = staging.place == model::StagingPlace::ranks ? staging.nodes : 0;
  std::vector<std::string> words{
      "--xml",
      options.xml,
      "--mpirun",
      found->path,
      "--nodes",
      std::to_string(nodes + set_aside),
      "--ranks",
      std::to_string(options.ranks + more * nodes + set_aside * (*ranks + more)),
      "--per-node",
      std::to_string(*ranks + more),
      "--servers",
      std::to_string(dedicated - more),
      "--staging",
      std::to_string(staging.nodes - set_aside),
      "--staging-program",
      staging_program(),
      "--"};
  words.insert(words.end(), options.program.begin(), options.program.end());
  return exec_python_tool(kVerb, "pretend", "python3", "", words);
}

int run_launch(const LaunchOptions& options) {
  if (options.program.empty()) {
    return refuse(kVerb,
                  "what is to be started? Say it behind two dashes: leat launch " + options.xml +
                      " -n " + std::to_string(options.ranks) + " -- ./simulation its arguments",
                  kUsage);
  }
  if (options.pretended_nodes > 0) return pretend_launch(options);
  return options.run ? exec_launch(options) : print_launch(options);
}

void add_options(CLI::App& verb, LaunchOptions& options) {
  const CLI::Range count(std::int64_t{1}, std::int64_t{1} << 31);
  verb.add_option("CONFIG", options.xml, "The XML of the simulation")->required();
  verb.add_option("-n", options.ranks, "Ranks that compute, of all nodes")
      ->required()
      ->check(count);
  CLI::Option* nodes =
      verb.add_option("--nodes", options.nodes, "Nodes to have them on (default: 1)")->check(count);
  CLI::Option* launcher = verb.add_option("--launcher", options.launcher,
                                          "openmpi, mpich or slurm (default: what is in PATH)")
                              ->check(CLI::IsMember({"openmpi", "mpich", "slurm"}));
  CLI::Option* machine =
      verb.add_option(
              "--machine", options.machines,
              "A node described as JSON (default: this one); repeated for each kind of node")
          ->allow_extra_args(false);
  CLI::Option* job =
      verb.add_option("--job", options.job, "Print a job file: slurm, pbs or sge (Grid Engine)")
          ->check(CLI::IsMember({"slurm", "pbs", "sge"}));
  verb.add_flag("--run", options.run, "Start it, and print nothing")->excludes(job);
  verb.add_option("--pretend-nodes", options.pretended_nodes,
                  "With --run: so many nodes, all of which are this machine (Open MPI)")
      ->check(CLI::Range(2, kMostPretendedNodes))
      ->excludes(nodes)
      ->excludes(launcher)
      ->excludes(machine)
      ->excludes(job);
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

// The job files of `leat launch`.

namespace {

// sbatch(1): --exclusive gives the job all processors of its nodes, those that no rank is on among
// them, but no more memory than is asked for; --mem=0 asks for all, the shared segment counts too.
std::string slurm_text(const LaunchPlan& plan) {
  return "#SBATCH --job-name=" + plan.simulation +
         "\n#SBATCH --nodes=" + std::to_string(plan.nodes + plan.staging_nodes) +
         "\n#SBATCH --ntasks=" + std::to_string(plan.ranks + plan.staging_nodes) +
         "\n#SBATCH --ntasks-per-node=" + std::to_string(plan.per_node) +
         "\n#SBATCH --exclusive\n#SBATCH --mem=0\n";
}

// pbs_resources(7) and qsub(1B) of OpenPBS: chunks with the cores of a whole node, each on a node of
// its own (scatter) that no other job is on (excl). A job begins in the home folder.
std::string pbs_text(const LaunchPlan& plan) {
  const std::string staging = plan.staging_nodes == 0
                                  ? ""
                                  : "+" + std::to_string(plan.staging_nodes) +
                                        ":ncpus=" + std::to_string(plan.cores) + ":mpiprocs=1";
  return "#PBS -N " + plan.simulation + "\n#PBS -l select=" + std::to_string(plan.nodes) +
         ":ncpus=" + std::to_string(plan.cores) + ":mpiprocs=" + std::to_string(plan.per_node) +
         staging + "\n#PBS -l place=scatter:excl\ncd \"$PBS_O_WORKDIR\" || exit\n";
}

// submit(1) and sge_pe(5) of Grid Engine: slots of a parallel environment, all of each node. -notify: SIGUSR2 comes to all processes
// of the job some time before SIGKILL.
std::string grid_engine_text(const LaunchPlan& plan) {
  return "#$ -N " + plan.simulation + "\n#$ -S /bin/bash\n#$ -cwd\n#$ -notify\n#$ -pe mpi " +
         std::to_string((plan.nodes + plan.staging_nodes) * plan.cores) + "\n";
}

// The line that keeps its code for the end of the job: lines of staging nodes do that themselves.
std::string keep_code(const LaunchPlan& plan) { return plan.staging_nodes == 0 ? "code=$?\n" : ""; }

// When the ranks of a job step have died, Slurm kills what else is in the step: the server, with what it has not stored yet. So
// another step on each node stores that; sbatch(1) and srun(1) of 22.05: --overlap shares the processors, srun passes SIGUSR1 on.
std::string watched_by_step(const LaunchPlan& plan, const std::string& lines) {
  const std::string nodes = std::to_string(plan.nodes + plan.staging_nodes);
  return "srun --nodes=" + nodes + " --ntasks=" + nodes +
         " --ntasks-per-node=1 --overlap --mpi=none --cpu-bind=none leat recover --watch &\n"
         "watch=$!\n" +
         lines + keep_code(plan) + "kill -USR1 $watch\nwait\nexit $code\n";
}

// When the script of a job has ended, Grid Engine kills what else is in the job: the server, with what it has not stored yet. So
// the script waits until all is stored, whatever signals come. mpiexec.hydra would end with SIGUSR2, and `leat recover` with it.
std::string waited_for(Launcher launcher, const LaunchPlan& plan, const std::string& lines) {
  const std::int64_t nodes = plan.nodes + plan.staging_nodes;
  std::vector<std::string> watch;
  if (nodes > 1) watch = one_on_each_node(launcher, nodes);
  watch.insert(watch.end(), {"leat", "recover", "--watch"});
  return "trap '' USR1 USR2\n" + shell_text(watch) + " &\nwatch=$!\ntrap : USR1 USR2\n" + lines +
         keep_code(plan) + "trap '' USR1 USR2\nkill -USR1 $watch\nwait\nexit $code\n";
}

}  // namespace

std::string job_text(const std::string& batch, Launcher launcher, const LaunchPlan& plan) {
  const std::string lines = lines_of(launcher, plan, batch);
  if (batch == "slurm") return "#!/bin/bash\n" + slurm_text(plan) + watched_by_step(plan, lines);
  if (batch == "sge")
    return "#!/bin/bash\n" + grid_engine_text(plan) + waited_for(launcher, plan, lines);
  const std::string end = plan.staging_nodes == 0 ? "" : "wait\nexit $code\n";
  return "#!/bin/bash\n" + pbs_text(plan) + lines + end;
}

}  // namespace leat::cli

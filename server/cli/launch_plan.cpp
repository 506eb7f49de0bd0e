// SPDX-License-Identifier: Apache-2.0
#include "server/cli/launch_plan.hpp"

#include <algorithm>
#include <filesystem>

#include "lib/base/text.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/process.hpp"
#include "server/cli/placement.hpp"

namespace leat::cli {
namespace {

std::int64_t shares(std::int64_t whole, std::int64_t each) { return (whole + each - 1) / each; }

Error misfit(const std::string& message) { return {Status::ERROR_CONFIG, message}; }

std::string name_of_node(const std::string& file) {
  return file.empty() ? "a node like this machine" : "a node of " + file;
}

Error machine_error(const std::string& file, const Error& error) {
  const bool is_there = file.empty() || std::filesystem::exists(file);
  return {error.status, error.message + (is_there ? ""
                                                  : "; to have it, type on such a node: "
                                                    "leat placement --describe > " +
                                                        file)};
}

// Nodes that would have no rank.
Result<void> judge_nodes(std::int64_t ranks, std::int64_t nodes, const std::string& option) {
  const std::int64_t per_node = shares(ranks, nodes), filled = shares(ranks, per_node);
  if (filled == nodes) return {};
  return misfit("-n " + std::to_string(ranks) + " " + option + " " + std::to_string(nodes) +
                ": with " + counted(per_node, "rank") + " on a node, " + counted(filled, "node") +
                (filled == 1 ? " is" : " are") + " enough; say " + option + " " +
                std::to_string(filled));
}

Result<void> judge_room(const LaunchOptions& options, std::int64_t per_node,
                        const std::string& machine, std::int64_t room, std::int64_t dedicated) {
  if (per_node <= room) return {};
  const std::string asked = counted(per_node, "rank") + " on " + name_of_node(machine) + ": " +
                            options.xml + " gives " + counted(dedicated, "core") +
                            " of it to the server";
  if (room == 0) {
    return misfit(asked +
                  ", and no other is left; give fewer in <dedicated cores=\"...\">, or "
                  "take nodes with more cores");
  }
  return misfit(asked + ", so " + counted(room, "rank") + (room == 1 ? " fits" : " fit") +
                "; say --nodes " + std::to_string(shares(options.ranks, room)) + ", or -n " +
                std::to_string(room * options.nodes));
}

struct NodeKind {
  std::string file;
  server::DescribedMachine described;
};

std::vector<os::CpuSet> bound_on(const NodeKind& kind, std::int64_t ranks,
                                 const model::Architecture& architecture) {
  return launched_for_servers(kind.described, static_cast<int>(ranks), architecture);
}

// How many ranks each memory node gets, where each has a server and all have the same; 0: they do
// not.
std::int64_t on_each_memory_node(const NodeKind& kind, std::int64_t started, std::int64_t servers) {
  const std::size_t nodes = kind.described.machine.nodes_of(kind.described.allowed).size();
  const bool fits = servers > 1 && nodes == static_cast<std::size_t>(servers);
  return fits && started % servers == 0 ? started / servers : 0;
}

Result<std::vector<NodeKind>> kinds_of(const LaunchOptions& options) {
  std::vector<std::string> files = options.machines;
  if (files.empty()) files.push_back("");
  std::vector<NodeKind> kinds;
  for (const std::string& file : files) {
    PlacementOptions asked;
    asked.machine = file;
    Result<server::DescribedMachine> described = machine_of(asked);
    if (!described) return machine_error(file, described.error());
    kinds.push_back({file, std::move(*described)});
  }
  return kinds;
}

// Open MPI looks for the cores itself, on each node anew; the others have one list for all nodes.
Result<void> judge_alike(Launcher launcher, const std::vector<NodeKind>& kinds,
                         std::int64_t per_node, const model::Architecture& architecture) {
  if (launcher == Launcher::openmpi) return {};
  const auto other = std::find_if(kinds.begin(), kinds.end(), [&](const NodeKind& kind) {
    return bound_on(kind, per_node, architecture) !=
           bound_on(kinds.front(), per_node, architecture);
  });
  if (other == kinds.end()) return {};
  return misfit("ranks are on other processors of " + other->file + " than of " +
                kinds.front().file +
                ", and this launcher has one list for all nodes; start them on nodes of one kind, "
                "or with --launcher openmpi");
}

}  // namespace

Result<std::int64_t> ranks_of_node(const LaunchOptions& options) {
  const Result<void> filled =
      judge_nodes(options.ranks, options.pretended_nodes, "--pretend-nodes");
  if (!filled) return filled.error();
  return shares(options.ranks, options.pretended_nodes);
}

Result<LaunchPlan> plan_launch(const LaunchOptions& options, Launcher launcher) {
  const Result<model::Model> model = model_of(options.xml);
  if (!model) return model.error();
  const std::int64_t dedicated = model->architecture.dedicated_cores;
  const std::int64_t per_node = shares(options.ranks, options.nodes);
  const Result<void> filled = judge_nodes(options.ranks, options.nodes, "--nodes");
  if (!filled) return filled.error();
  const Result<std::vector<NodeKind>> kinds = kinds_of(options);
  if (!kinds) return kinds.error();
  const auto room = [&](const NodeKind& kind) {
    return room_for_ranks(kind.described, model->architecture);
  };
  const NodeKind& least =
      *std::min_element(kinds->begin(), kinds->end(),
                        [&](const NodeKind& a, const NodeKind& b) { return room(a) < room(b); });
  const Result<void> fits = judge_room(options, per_node, least.file, room(least), dedicated);
  if (!fits) return fits.error();
  // The last ranks of each node are its server then, on the cores that it would have had.
  const bool in_ranks = model->architecture.place == model::Place::ranks;
  const std::int64_t started = per_node + (in_ranks ? dedicated : 0);
  const Result<void> alike = judge_alike(launcher, *kinds, per_node, model->architecture);
  if (!alike) return alike.error();
  // Staging nodes that are ranks are nodes like the others.
  const model::StagingFields& staging = model->architecture.staging;
  const bool are_ranks = staging.place == model::StagingPlace::ranks;
  const std::int64_t more = are_ranks ? staging.nodes : 0;
  return LaunchPlan{model->name,
                    options.ranks + (started - per_node) * options.nodes + more * started,
                    options.nodes + more,
                    started,
                    room(least) + dedicated,
                    bound_on(least, per_node, model->architecture),
                    options.program,
                    are_ranks ? 0 : staging.nodes,
                    options.xml,
                    on_each_memory_node(least, started, model->architecture.servers)};
}

namespace {

constexpr std::int64_t kVersionTimeout = 20'000'000'000;

struct Known {
  const char* program;
  Launcher launcher;
  const char* says;  // with --version; "": nobody else has this name
};

// Several MPIs call theirs mpirun. Those with a point are Debian's, for where there is more than one.
constexpr Known kKnown[] = {
    {"mpirun", Launcher::openmpi, "(Open MPI)"},
    {"mpirun", Launcher::mpich, "HYDRA"},
    {"mpiexec.hydra", Launcher::mpich, "HYDRA"},
    {"mpirun.openmpi", Launcher::openmpi, "(Open MPI)"},
    {"srun", Launcher::slurm, ""},
};

bool is_it(const std::string& path, const std::string& says) {
  if (says.empty()) return true;
  const Result<std::string> said = os::run_program({path, "--version"}, "", kVersionTimeout);
  return said && said->find(says) != std::string::npos;
}

const char* full_name(Launcher launcher) {
  switch (launcher) {
    case Launcher::openmpi:
      return "mpirun of Open MPI";
    case Launcher::mpich:
      return "mpiexec.hydra of MPICH";
    case Launcher::slurm:
      return "srun of Slurm";
  }
  return "?";
}

Error none(std::optional<Launcher> wanted) {
  if (wanted) {
    return {Status::ERROR_CONFIG,
            std::string("there is no ") + full_name(*wanted) +
                " in PATH to run it with: load its module or install it; without --run the line is "
                "printed, for another machine"};
  }
  return {Status::ERROR_CONFIG,
          "there is no launcher in PATH, mpirun of Open MPI, mpiexec.hydra of MPICH or srun of "
          "Slurm; say --launcher openmpi, mpich or slurm for the line on another machine"};
}

}  // namespace

std::optional<Launcher> launcher_named(const std::string& name) {
  if (name == "openmpi") return Launcher::openmpi;
  if (name == "mpich") return Launcher::mpich;
  if (name == "slurm") return Launcher::slurm;
  return std::nullopt;
}

Result<InstalledLauncher> find_launcher(std::optional<Launcher> wanted) {
  for (const Known& known : kKnown) {
    if (wanted && *wanted != known.launcher) continue;
    const std::string path = os::find_program(known.program);
    if (!path.empty() && is_it(path, known.says))
      return InstalledLauncher{known.launcher, known.program, path};
  }
  return none(wanted);
}

namespace {

using os::CpuSet;
using Words = std::vector<std::string>;

template <class Text>
std::string list_of(const std::vector<CpuSet>& bound, Text text) {
  Words each;
  for (const CpuSet& cpus : bound) each.push_back(text(cpus));
  return joined(each, ",");
}

// "0x101" of 0 and 8.
std::string mask_text(const CpuSet& cpus) {
  std::string digits;
  for (int cpu = CpuSet::kMaxCpus - 4; cpu >= 0; cpu -= 4) {
    const int digit =
        cpus.has(cpu) + 2 * cpus.has(cpu + 1) + 4 * cpus.has(cpu + 2) + 8 * cpus.has(cpu + 3);
    if (digit > 0 || !digits.empty()) digits += "0123456789abcdef"[digit];
  }
  return "0x" + digits;
}

// "0+8" of 0 and 8.
std::string sum_text(const CpuSet& cpus) {
  Words numbers;
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (cpus.has(cpu)) numbers.push_back(std::to_string(cpu));
  }
  return joined(numbers, "+");
}

// mpirun(1) of 4.1: "ppr:N:node", N on each node, consecutive ranks beside each other; of the cores
// `--bind-to core` takes the first one that is free, with all its hardware threads, in the order of
// hwloc (bind_generic of orte/mca/rmaps/base/rmaps_base_binding.c). Lists do not do: `--cpu-set`
// forbids --map-by, `--bind-to cpu-list:ordered` gives single hardware threads, and both count
// hwloc's cores, not Linux' processors (bind_to_cpuset there, rmaps_rank_file_component.c).
Words openmpi_words(const LaunchPlan& plan) {
  return {"mpirun",
          "-n",
          std::to_string(plan.ranks),
          "--map-by",
          plan.per_memory_node > 0 ? "ppr:" + std::to_string(plan.per_memory_node) + ":numa"
                                   : "ppr:" + std::to_string(plan.per_node) + ":node",
          "--bind-to",
          "core"};
}

// `mpiexec.hydra -bind-to -help`: "user:0+2,1+4,3,2", processors of Linux, those of one rank with a
// plus; each node's ranks begin at the first (handle_user_binding of src/pm/hydra/lib/tools/topo/
// hwloc/topo_hwloc.c).
Words mpich_words(const LaunchPlan& plan) {
  return {"mpiexec.hydra",
          "-n",
          std::to_string(plan.ranks),
          "-ppn",
          std::to_string(plan.per_node),
          "-bind-to",
          "user:" + list_of(plan.bound, sum_text)};
}

// srun(1), --cpu-bind: masks of Linux' processors, "specified for a node and identical mapping is
// applied to the tasks on every node", "only honored when the job step has been allocated every
// available CPU on the node": --exclusive of the job. Not that of srun, which takes for the step no
// more than the ranks' own. --kill-on-bad-exit: ranks of other nodes wait for one that has died, as long as the job lasts.
Words slurm_words(const LaunchPlan& plan) {
  return {"srun",
          "--nodes=" + std::to_string(plan.nodes),
          "--ntasks=" + std::to_string(plan.ranks),
          "--ntasks-per-node=" + std::to_string(plan.per_node),
          "--distribution=block",
          "--kill-on-bad-exit=1",
          "--cpu-bind=mask_cpu:" + list_of(plan.bound, mask_text)};
}

Words own_words(Launcher launcher, const LaunchPlan& plan) {
  switch (launcher) {
    case Launcher::openmpi:
      return openmpi_words(plan);
    case Launcher::mpich:
      return mpich_words(plan);
    case Launcher::slurm:
      return slurm_words(plan);
  }
  return {};
}

bool is_plain(const std::string& word) {
  return !word.empty() && word.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789_-+=./:,@%") == std::string::npos;
}

// What a shell is to put in is not quoted.
std::string shell_word(const std::string& word) {
  if (is_plain(word) || word.starts_with("$(")) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

namespace {

// The command that prints the nodes of a job, one a line. In a job of PBS their names are in a file, each as often as it has ranks;
// Grid Engine's has more words in a line, and a line for each queue of a node.
const char* names_of_nodes(const std::string& batch) {
  if (batch == "slurm") return "scontrol show hostnames \"$SLURM_JOB_NODELIST\"";
  if (batch == "sge") return "cut -d ' ' -f 1 \"$PE_HOSTFILE\" | uniq";
  return "uniq \"$PBS_NODEFILE\"";
}

std::string hosts_in_job(const std::string& batch, const char* part, std::int64_t nodes) {
  return std::string("$(") + names_of_nodes(batch) + " | " + part + " -n " + std::to_string(nodes) +
         " | paste -s -d ,)";
}

// Where to, when there are staging nodes: else a launcher takes all that it has.
Words where_to(Launcher launcher, const LaunchPlan& plan, const std::string& batch,
               bool is_staging) {
  if (plan.staging_nodes == 0) return {};
  if (launcher == Launcher::slurm)
    return {"--relative=" + std::to_string(is_staging ? plan.nodes : 0)};
  const std::string names = is_staging ? "STAGING_NODES" : "NODES";
  const std::int64_t nodes = is_staging ? plan.staging_nodes : plan.nodes;
  return {launcher == Launcher::openmpi ? "--host" : "-hosts",
          batch.empty() ? names : hosts_in_job(batch, is_staging ? "tail" : "head", nodes)};
}

}  // namespace

Words launch_words(Launcher launcher, const LaunchPlan& plan, const std::string& batch) {
  Words words = own_words(launcher, plan);
  const Words where = where_to(launcher, plan, batch, false);
  words.insert(words.end(), where.begin(), where.end());
  words.insert(words.end(), plan.program.begin(), plan.program.end());
  return words;
}

Words one_on_each_node(Launcher launcher, std::int64_t nodes) {
  const std::string count = std::to_string(nodes);
  switch (launcher) {
    case Launcher::openmpi:
      return {"mpirun", "-n", count, "--map-by", "ppr:1:node", "--bind-to", "none"};
    case Launcher::mpich:
      return {"mpiexec.hydra", "-n", count, "-ppn", "1", "-bind-to", "none"};
    case Launcher::slurm:
      return {"srun", "--nodes=" + count, "--ntasks=" + count, "--ntasks-per-node=1",
              "--cpu-bind=none"};
  }
  return {};
}

Words staging_words(Launcher launcher, const LaunchPlan& plan, const std::string& batch) {
  if (plan.staging_nodes == 0) return {};
  Words words = one_on_each_node(launcher, plan.staging_nodes);
  const Words where = where_to(launcher, plan, batch, true);
  words.insert(words.end(), where.begin(), where.end());
  words.insert(words.end(), {"leat", "staging", plan.xml});
  return words;
}

std::string lines_of(Launcher launcher, const LaunchPlan& plan, const std::string& batch) {
  const std::string line = shell_text(launch_words(launcher, plan, batch));
  if (plan.staging_nodes == 0) return line + "\n";
  // A job ends as its simulation does: job_text() says the rest.
  const std::string keep = batch.empty() ? "" : "\ncode=$?", wait = batch.empty() ? "wait\n" : "";
  return shell_text(staging_words(launcher, plan, batch)) + " &\n" + line + keep +
         "\nleat staging " + shell_word(plan.xml) + " --end\n" + wait;
}

std::string shell_text(const Words& words) {
  Words quoted;
  for (const std::string& word : words) quoted.push_back(shell_word(word));
  return joined(quoted, " ");
}

}  // namespace leat::cli

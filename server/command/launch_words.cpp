// SPDX-License-Identifier: Apache-2.0
#include "server/command/launch_words.hpp"

#include "lib/base/text.hpp"

namespace leat::command {
namespace {

using platform::CpuSet;
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
// more than the ranks' own.
Words slurm_words(const LaunchPlan& plan) {
  return {"srun",
          "--nodes=" + std::to_string(plan.nodes),
          "--ntasks=" + std::to_string(plan.ranks),
          "--ntasks-per-node=" + std::to_string(plan.per_node),
          "--distribution=block",
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

std::string shell_word(const std::string& word) {
  if (is_plain(word)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

Words launch_words(Launcher launcher, const LaunchPlan& plan) {
  Words words = own_words(launcher, plan);
  words.insert(words.end(), plan.program.begin(), plan.program.end());
  return words;
}

std::string shell_text(const Words& words) {
  Words quoted;
  for (const std::string& word : words) quoted.push_back(shell_word(word));
  return joined(quoted, " ");
}

}  // namespace leat::command

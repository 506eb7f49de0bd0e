// SPDX-License-Identifier: Apache-2.0
// The job files of `leat launch`.
#include "server/command/launch_words.hpp"

namespace leat::command {
namespace {

// sbatch(1): --exclusive gives the job all processors of its nodes, those that no rank is on among
// them, but no more memory than is asked for; --mem=0 asks for all, the shared segment counts too.
std::string slurm_text(const LaunchPlan& plan) {
  return "#SBATCH --job-name=" + plan.simulation +
         "\n#SBATCH --nodes=" + std::to_string(plan.nodes) +
         "\n#SBATCH --ntasks=" + std::to_string(plan.ranks) +
         "\n#SBATCH --ntasks-per-node=" + std::to_string(plan.per_node) +
         "\n#SBATCH --exclusive\n#SBATCH --mem=0\n";
}

// pbs_resources(7) and qsub(1B) of OpenPBS: chunks with the cores of a whole node, each on a node of
// its own (scatter) that no other job is on (excl). A job begins in the home folder.
std::string pbs_text(const LaunchPlan& plan) {
  return "#PBS -N " + plan.simulation + "\n#PBS -l select=" + std::to_string(plan.nodes) +
         ":ncpus=" + std::to_string(plan.cores) + ":mpiprocs=" + std::to_string(plan.per_node) +
         "\n#PBS -l place=scatter:excl\ncd \"$PBS_O_WORKDIR\" || exit\n";
}

}  // namespace

std::string job_text(const std::string& batch, const LaunchPlan& plan, const std::string& line) {
  return "#!/bin/bash\n" + (batch == "pbs" ? pbs_text(plan) : slurm_text(plan)) + line + "\n";
}

}  // namespace leat::command

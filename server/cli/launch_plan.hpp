// SPDX-License-Identifier: Apache-2.0
// How many ranks a node gets and where they are bound, in the words of a launcher that is here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/cores.hpp"

namespace leat::cli {

// How many ranks a node gets and where they are bound, before that becomes a line of some launcher.

/// Those that `leat launch` knows.
enum class Launcher { openmpi, mpich, slurm };

struct LaunchOptions {
  std::string xml;
  std::int64_t ranks = 0, nodes = 1;
  std::string launcher;               ///< "": what there is
  std::vector<std::string> machines;  ///< one of each kind of node; none: this one
  std::string job;                    ///< "", slurm, pbs or sge
  bool run = false;
  std::int64_t pretended_nodes = 0;  ///< that this machine is to be; 0: none
  std::vector<std::string> program;  ///< and its arguments
};

struct LaunchPlan {
  std::string simulation;
  std::int64_t ranks = 0, nodes = 0;  ///< ranks that become servers among them
  std::int64_t per_node = 0;          ///< ranks; the last node may have fewer
  std::int64_t cores = 0;             ///< of a node, those of the server among them
  std::vector<os::CpuSet> bound;      ///< of each rank of a node
  std::vector<std::string> program;
  std::int64_t staging_nodes = 0;  ///< beside these
  std::string xml{};
  std::int64_t per_memory_node = 0;  ///< ranks, where each has a server of its own; 0: as they come
};

/// Says why there is none: errors in the XML or in a machine, no room, or kinds of nodes that this
/// launcher cannot bind alike.
Result<LaunchPlan> plan_launch(const LaunchOptions& options, Launcher launcher);

/// That compute on each pretended node but the last, which may have fewer. Says so where one would
/// have none.
Result<std::int64_t> ranks_of_node(const LaunchOptions& options);

// Which launchers this machine has.

/// Of "openmpi", "mpich" or "slurm"; nothing for other names.
std::optional<Launcher> launcher_named(const std::string& name);

struct InstalledLauncher {
  Launcher launcher;
  std::string name;  ///< as typed
  std::string path;
};

/// This launcher, or whichever there is: what `mpirun` is comes first. Says what to do where there is
/// none.
Result<InstalledLauncher> find_launcher(std::optional<Launcher> wanted);

// A plan in the words of a launcher, and in those of a batch system.

/// The launcher, its options, and the program with its arguments. `batch`: the system whose job it is in, "" for none; it knows all
/// nodes, those of the simulation first.
std::vector<std::string> launch_words(Launcher launcher, const LaunchPlan& plan,
                                      const std::string& batch = "");

/// What starts one process on each node, with all its cores; behind it comes the program.
std::vector<std::string> one_on_each_node(Launcher launcher, std::int64_t nodes);

/// The line that starts its staging nodes; empty when it has none.
std::vector<std::string> staging_words(Launcher launcher, const LaunchPlan& plan,
                                       const std::string& batch);
/// All lines, each for a shell: the one of staging nodes, which goes on beside the others, and the one of the simulation.
std::string lines_of(Launcher launcher, const LaunchPlan& plan, const std::string& batch = "");

/// As a shell reads it.
std::string shell_text(const std::vector<std::string>& words);

/// A file for `sbatch` of Slurm, or for `qsub` of PBS Professional and OpenPBS ("pbs") or of Grid Engine ("sge"), that asks for
/// whole nodes and runs the lines.
std::string job_text(const std::string& batch, Launcher launcher, const LaunchPlan& plan);

}  // namespace leat::cli

// SPDX-License-Identifier: Apache-2.0
// How many ranks a node gets and where they are bound, before that becomes a line of some launcher.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/cores.hpp"

namespace leat::command {

/// Those that `leat launch` knows.
enum class Launcher { openmpi, mpich, slurm };

struct LaunchOptions {
  std::string xml;
  std::int64_t ranks = 0, nodes = 1;
  std::string launcher;               ///< "": what there is
  std::vector<std::string> machines;  ///< one of each kind of node; none: this one
  std::string job;                    ///< "", slurm or pbs
  bool run = false;
  std::vector<std::string> program;  ///< and its arguments
};

struct LaunchPlan {
  std::string simulation;
  std::int64_t ranks = 0, nodes = 0;    ///< ranks that become servers among them
  std::int64_t per_node = 0;            ///< ranks; the last node may have fewer
  std::int64_t cores = 0;               ///< of a node, those of the server among them
  std::vector<platform::CpuSet> bound;  ///< of each rank of a node
  std::vector<std::string> program;
  std::int64_t per_memory_node = 0;  ///< ranks, where each has a server of its own; 0: as they come
};

/// Says why there is none: errors in the XML or in a machine, no room, or kinds of nodes that this
/// launcher cannot bind alike.
Result<LaunchPlan> plan_launch(const LaunchOptions& options, Launcher launcher);

}  // namespace leat::command

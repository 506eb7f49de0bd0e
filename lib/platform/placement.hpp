// SPDX-License-Identifier: Apache-2.0
// Where a server runs and where its segment lies: a pure function of a described machine, so that it is tested on
// machines that nobody here owns.
#pragma once

#include <string>
#include <vector>

#include "lib/platform/affinity.hpp"

namespace leat::platform {

struct Cpu {
  int id = 0;
  int core = 0;  ///< processors of one core (hardware threads) share this number
  int memory_node = 0;
};

struct Machine {
  std::vector<Cpu> cpus;
};

struct Placement {
  CpuSet cpus;          ///< where the server runs
  int memory_node = 0;  ///< where the segment lies
  bool shared = false;  ///< no core was free: the server runs where ranks compute
  bool pinned = false;  ///< the server has cores for itself, and may spin briefly
};

/// Chooses `wanted` cores among `allowed`, given the affinity of each rank on the node.
/// A rank counts as bound when it may not use all of `allowed`; bound ranks' cores, hardware threads included, are
/// avoided. Free cores near most ranks are preferred, and there the highest numbers (launchers fill from the lowest).
/// Ranks that are not bound, or of which the kernel told nothing (an empty set), leave the choice to the system: the
/// server is not pinned either, and shares when there are fewer cores than ranks and wanted cores together. So it is in
/// a set, like a socket, to which several ranks are bound: each is taken for one core of it.
Placement place_server(const Machine& machine, const CpuSet& allowed,
                       const std::vector<CpuSet>& ranks, int wanted);

/// One line for the user: "core 3, memory node 0".
std::string describe(const Placement& placement);

}  // namespace leat::platform

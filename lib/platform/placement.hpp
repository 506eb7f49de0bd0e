// SPDX-License-Identifier: Apache-2.0
// Where a server runs and where its segment lies: pure functions of a described machine and of where
// the ranks may run. leatd, `leat placement` and the tests call the same ones.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/platform/affinity.hpp"
#include "lib/platform/machine.hpp"

namespace leat::platform {

struct Placement {
  CpuSet cpus;          ///< where the server runs
  int memory_node = 0;  ///< where it is at home
  bool shared = false;  ///< no core was free: the server runs where ranks compute
  bool pinned = false;  ///< the server has cores for itself, and may spin briefly
  int cores = 0;        ///< that it has for itself
};

/// Chooses `wanted` cores among `allowed`, given the affinity of each rank on the node.
/// A rank counts as bound when it may not use all of `allowed`; bound ranks' cores, hardware threads included, are
/// avoided: a server that wanted more has the fewer that are free. Free cores near most ranks are preferred, and there
/// the highest numbers (launchers fill from the lowest). When there is none, the server runs on hardware threads
/// that no rank is bound to, and where there are none either, anywhere.
/// Ranks that are not bound, or of which the kernel told nothing (an empty set), leave the choice to the system: the
/// server is not pinned either, keeps off the cores of bound ranks only, and shares when there are fewer cores than ranks and wanted cores together. So it is in
/// a set, like a socket, to which several ranks are bound: each is taken for one core of it.
Placement place_server(const Machine& machine, const CpuSet& allowed,
                       const std::vector<CpuSet>& ranks, int wanted);

/// The same for several servers of a node, which have `wanted` cores between them: each is near its
/// share of the ranks (see server_share.hpp), none of which it can be on, whoever's they are, and no
/// two are on one core. Where ranks leave the choice to the system, a server keeps to a memory node:
/// that of its bound ranks, or its share of them.
std::vector<Placement> place_servers(const Machine& machine, const CpuSet& allowed,
                                     const std::vector<CpuSet>& ranks, int wanted, int servers);

/// One line for the user: "core 3, memory node 0".
std::string describe(const Placement& placement);

/// Lines that name the cores which the server shares, and the ranks that are there; or say that it has fewer cores than
/// it wanted. `names` are the ranks' numbers in the simulation, in the order of `ranks`.
std::vector<std::string> warnings(const Machine& machine, const Placement& placement,
                                  const std::vector<CpuSet>& ranks, const std::vector<int>& names,
                                  int wanted);

/// On whose memory node what a rank writes lies.
enum class MemoryPolicy { server, client, interleave };

struct MemoryPlacement {
  /// Memory nodes that the segment lies on, in turns; empty: each rank's part lies as `of_rank` says.
  std::vector<int> interleaved;
  std::vector<int> of_rank;
};

/// `client`: a rank's part lies on its own node. `server`: on the one nearest to the rank of those that the server's
/// cores have. A rank that may run on several nodes is at none of them: its part lies at the server's.
MemoryPlacement place_memory(const Machine& machine, const CpuSet& allowed, const Placement& server,
                             const std::vector<CpuSet>& ranks, MemoryPolicy policy);

/// "memory node 0"; "memory node 0 for ranks 0-3, 1 for ranks 4-7"; "memory nodes 0,1 in turns".
std::string describe(const MemoryPlacement& placement, const std::vector<int>& names);

/// The one memory node to which a rank of this affinity is bound; -1: there is no such node.
int node_of(const Machine& machine, const CpuSet& rank);

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
// Where a server runs and where its segment lies, and how servers of one node share it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/os/cores.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::node {

// Several servers on one node divide what the node has: each gets a piece of its ranks and of its
// dedicated cores, neighbours by their numbers. Client, server and commands count with these.
struct Share {
  int first = 0, count = 0;
};

/// What the server of this number has of `whole` things in a row.
Share share_of(int whole, int server, int servers) noexcept;

/// Whose share the thing of this number is in.
int server_of(int index, int whole, int servers) noexcept;

/// Under which name a server of this run is found on its node: "run", "run.1", "run.2".
std::string session_of_server(const std::string& run, int server);

/// The name of a node with which one of its servers is told from all others of the run: "node7",
/// "node7.1".
std::string name_of_server(const std::string& node, int server);

// Where a server runs and where its segment lies: pure functions of a described machine and of where
// the ranks may run. leatd, `leat placement` and the tests call the same ones.
struct Placement {
  os::CpuSet cpus;      ///< where the server runs
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
Placement place_server(const os::Machine& machine, const os::CpuSet& allowed,
                       const std::vector<os::CpuSet>& ranks, int wanted);

/// The same for several servers of a node, which have `wanted` cores between them: each is near its
/// share of the ranks (see share_of below), none of which it can be on, whoever's they are, and no
/// two are on one core. Where ranks leave the choice to the system, a server keeps to a memory node:
/// that of its bound ranks, or its share of them.
std::vector<Placement> place_servers(const os::Machine& machine, const os::CpuSet& allowed,
                                     const std::vector<os::CpuSet>& ranks, int wanted, int servers);

/// One line for the user: "core 3, memory node 0".
std::string describe(const Placement& placement);

/// Lines that name the cores which the server shares, and the ranks that are there; or say that it has fewer cores than
/// it wanted. `names` are the ranks' numbers in the simulation, in the order of `ranks`.
std::vector<std::string> warnings(const os::Machine& machine, const Placement& placement,
                                  const std::vector<os::CpuSet>& ranks,
                                  const std::vector<int>& names, int wanted);

/// On whose memory node what a rank writes lies.
enum class MemoryPolicy { server, client, interleave };

struct MemoryPlacement {
  /// Memory nodes that the segment lies on, in turns; empty: each rank's part lies as `of_rank` says.
  std::vector<int> interleaved;
  std::vector<int> of_rank;
};

/// `client`: a rank's part lies on its own node. `server`: on the one nearest to the rank of those that the server's
/// cores have. A rank that may run on several nodes is at none of them: its part lies at the server's.
MemoryPlacement place_memory(const os::Machine& machine, const os::CpuSet& allowed,
                             const Placement& server, const std::vector<os::CpuSet>& ranks,
                             MemoryPolicy policy);

/// "memory node 0"; "memory node 0 for ranks 0-3, 1 for ranks 4-7"; "memory nodes 0,1 in turns".
std::string describe(const MemoryPlacement& placement, const std::vector<int>& names);

/// The one memory node to which a rank of this affinity is bound; -1: there is no such node.
int node_of(const os::Machine& machine, const os::CpuSet& rank);

// Where the ranks of a node may run, as its servers tell each other, so that none takes a core which
// another one's rank or server has: a file in the runtime folder, in which each server writes of its
// own ranks only. What it wrote counts as long as it lives. Nobody waits for anybody.
class RanksOfNode {
 public:
  /// None has to be told of.
  RanksOfNode() = default;
  /// Nothing is known of this server's ranks from here on, whatever one before it wrote. Where the
  /// file cannot be had, nothing ever is.
  RanksOfNode(std::string path, int ranks, int server, int servers);
  RanksOfNode(RanksOfNode&& other) noexcept = default;
  RanksOfNode& operator=(RanksOfNode&& other) noexcept = default;
  /// The last one removes the file.
  ~RanksOfNode();

  /// Of this server's ranks, in order.
  void note(const std::vector<os::CpuSet>& own);
  /// Of all ranks in order, those of others as far as they are known: the others are empty sets.
  struct Known {
    std::vector<os::CpuSet> ranks;
    bool all = false;
  };
  Known known(const std::vector<os::CpuSet>& own) const;

 private:
  bool read(int rank, os::CpuSet* cpus) const;

  std::string path_;
  os::UniqueFd file_;  // each server that lives holds its byte of it
  int ranks_ = 0, server_ = 0, servers_ = 1;
};

}  // namespace leat::node

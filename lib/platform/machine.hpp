// SPDX-License-Identifier: Apache-2.0
// A node of a cluster, described: its processors, its memory nodes and how far they are from one
// another. A plain value, so that placement is tested on machines that nobody here owns.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lib/platform/affinity.hpp"

namespace leat::platform {

struct Cpu {
  int id = 0;
  int core = 0;  ///< processors of one core (hardware threads) share this number
  int memory_node = 0;
};

struct MemoryNode {
  int id = 0;
  std::uint64_t bytes = 0;  ///< 0: none, or none that this process may use
};

/// A core by its memory node and its number: numbers may repeat from node to node.
using Core = std::pair<int, int>;

struct Machine {
  std::vector<Cpu> cpus;          ///< those that are online
  std::vector<MemoryNode> nodes;  ///< empty: each memory node of a processor has memory
  /// Of the first node from the second, as the firmware gives it; kNear and kFar where it is
  /// silent.
  std::map<std::pair<int, int>, int> distances{};

  static constexpr int kNear = 10, kFar = 20;
  int distance(int from, int to) const;
  CpuSet all_cpus() const;
  CpuSet cpus_of(int node) const;
  /// The cores that have one of these processors, with those of their processors that are in the
  /// set.
  std::map<Core, CpuSet> cores(const CpuSet& allowed) const;
  bool has_memory(int node) const;
  /// Memory nodes that have both memory and one of these processors. A node without processors
  /// (high-bandwidth memory, CXL) is nobody's own, and is left to those who ask for it.
  std::vector<int> nodes_of(const CpuSet& cpus) const;
  /// This node, or, where it has no memory, the nearest that has: one with processors, if there is
  /// one.
  int nearest_memory(int node) const;
};

}  // namespace leat::platform

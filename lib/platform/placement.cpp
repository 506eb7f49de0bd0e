// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/placement.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace leat::platform {
namespace {

using Core = std::pair<int, int>;  // memory node, core: core numbers may repeat from node to node

std::map<Core, CpuSet> cores_of(const Machine& machine, const CpuSet& allowed) {
  std::map<Core, CpuSet> cores;
  for (const Cpu& cpu : machine.cpus) {
    if (allowed.has(cpu.id)) cores[{cpu.memory_node, cpu.core}].add(cpu.id);
  }
  return cores;
}

bool overlap(const CpuSet& a, const CpuSet& b) { return a.without(b).count() != a.count(); }

// The memory node on which most of these processors are, counted over all sets; the lowest number wins a tie.
int busiest_node(const Machine& machine, const std::vector<CpuSet>& sets) {
  std::map<int, int> votes;
  for (const CpuSet& set : sets) {
    for (const Cpu& cpu : machine.cpus) votes[cpu.memory_node] += set.has(cpu.id);
  }
  const auto most = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    return a.second < b.second;
  });
  return most == votes.end() ? 0 : most->first;
}

// Free cores, those to be taken first at the front.
std::vector<Core> preferred(const std::vector<Core>& free, int near) {
  std::vector<Core> sorted = free;
  std::sort(sorted.begin(), sorted.end(), [near](const Core& a, const Core& b) {
    if ((a.first == near) != (b.first == near)) return a.first == near;
    return a > b;
  });
  return sorted;
}

Placement unpinned(const Machine& machine, const CpuSet& allowed, const std::vector<CpuSet>& ranks,
                   bool shared) {
  return Placement{allowed, busiest_node(machine, ranks), shared, false};
}

}  // namespace

Placement place_server(const Machine& machine, const CpuSet& allowed,
                       const std::vector<CpuSet>& ranks, int wanted) {
  const std::map<Core, CpuSet> cores = cores_of(machine, allowed);
  CpuSet bound;
  std::size_t roaming = 0;
  for (const CpuSet& rank : ranks) {
    if (rank.contains(allowed)) {
      ++roaming;
    } else {
      bound.unite(rank);
    }
  }
  std::vector<Core> free;
  for (const auto& [core, cpus] : cores) {
    if (!overlap(cpus, bound)) free.push_back(core);
  }
  const std::size_t needed = roaming + static_cast<std::size_t>(wanted);
  if (roaming > 0 || free.size() < needed) {
    return unpinned(machine, allowed, ranks, free.size() < needed);
  }
  Placement placement{{}, 0, false, true};
  const std::vector<Core> order = preferred(free, busiest_node(machine, ranks));
  for (int i = 0; i < wanted; ++i) placement.cpus.unite(cores.at(order[i]));
  placement.memory_node = order.front().first;
  return placement;
}

std::string describe(const Placement& placement) {
  const bool one = placement.cpus.count() == 1;
  return (one ? "core " : "cores ") + placement.cpus.str() + ", memory node " +
         std::to_string(placement.memory_node);
}

}  // namespace leat::platform

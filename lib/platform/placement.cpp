// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/placement.hpp"

#include <algorithm>
#include <map>

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

std::size_t cores_in(const std::map<Core, CpuSet>& cores, const CpuSet& set) {
  return static_cast<std::size_t>(std::count_if(
      cores.begin(), cores.end(), [&](const auto& core) { return overlap(core.second, set); }));
}

// Cores that ranks may use and will not: launchers bind several ranks to one socket, and which of
// its cores stay idle is the system's choice. A rank alone in its set has threads for all of it.
std::size_t idle_cores(const std::map<Core, CpuSet>& cores, const std::vector<CpuSet>& bound) {
  CpuSet all;
  std::size_t busy = 0;
  for (const CpuSet& rank : bound) {
    const bool alone = std::count(bound.begin(), bound.end(), rank) == 1;
    busy += alone ? cores_in(cores, rank) : 1;
    all.unite(rank);
  }
  return cores_in(cores, all) - std::min(busy, cores_in(cores, all));
}

std::vector<Core> free_cores(const std::map<Core, CpuSet>& cores,
                             const std::vector<CpuSet>& bound) {
  std::vector<Core> free;
  for (const auto& [core, cpus] : cores) {
    const bool taken = std::any_of(bound.begin(), bound.end(), [&cpus = cpus](const CpuSet& rank) {
      return overlap(cpus, rank);
    });
    if (!taken) free.push_back(core);
  }
  return free;
}

// The memory node on which most of these processors are, counted over all sets; the lowest number
// wins a tie.
int busiest_node(const Machine& machine, const std::vector<CpuSet>& sets) {
  std::map<int, int> votes;
  for (const CpuSet& set : sets) {
    for (const Cpu& cpu : machine.cpus) votes[cpu.memory_node] += set.has(cpu.id);
  }
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
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
  std::vector<CpuSet> bound;
  for (const CpuSet& rank : ranks) {
    if (!rank.empty() && !rank.contains(allowed)) bound.push_back(rank);
  }
  const std::size_t roaming = ranks.size() - bound.size();
  const std::vector<Core> free = free_cores(cores, bound);
  const std::size_t needed = roaming + static_cast<std::size_t>(wanted);
  if (roaming > 0 || free.size() < needed) {
    return unpinned(machine, allowed, ranks, free.size() + idle_cores(cores, bound) < needed);
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

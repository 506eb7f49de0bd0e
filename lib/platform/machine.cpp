// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/machine.hpp"

#include <algorithm>
#include <set>

namespace leat::platform {

int Machine::distance(int from, int to) const {
  const auto known = distances.find({from, to});
  if (known != distances.end()) return known->second;
  return from == to ? kNear : kFar;
}

CpuSet Machine::all_cpus() const {
  CpuSet all;
  for (const Cpu& cpu : cpus) all.add(cpu.id);
  return all;
}

CpuSet Machine::cpus_of(int node) const {
  CpuSet here;
  for (const Cpu& cpu : cpus) {
    if (cpu.memory_node == node) here.add(cpu.id);
  }
  return here;
}

std::map<Core, CpuSet> Machine::cores(const CpuSet& allowed) const {
  std::map<Core, CpuSet> cores;
  for (const Cpu& cpu : cpus) {
    if (allowed.has(cpu.id)) cores[{cpu.memory_node, cpu.core}].add(cpu.id);
  }
  return cores;
}

bool Machine::has_memory(int node) const {
  return nodes.empty() || std::any_of(nodes.begin(), nodes.end(), [node](const MemoryNode& each) {
           return each.id == node && each.bytes > 0;
         });
}

std::vector<int> Machine::nodes_of(const CpuSet& set) const {
  std::set<int> found;
  for (const Cpu& cpu : cpus) {
    if (set.has(cpu.id) && has_memory(cpu.memory_node)) found.insert(cpu.memory_node);
  }
  return {found.begin(), found.end()};
}

int Machine::nearest_memory(int node) const {
  if (has_memory(node)) return node;
  std::vector<int> all = nodes_of(all_cpus());
  if (all.empty()) {
    for (const MemoryNode& each : nodes) {
      if (each.bytes > 0) all.push_back(each.id);
    }
  }
  const auto nearest = std::min_element(
      all.begin(), all.end(), [&](int a, int b) { return distance(node, a) < distance(node, b); });
  return nearest == all.end() ? node : *nearest;
}

}  // namespace leat::platform

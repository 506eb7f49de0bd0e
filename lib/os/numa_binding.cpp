// SPDX-License-Identifier: Apache-2.0
#include "lib/os/numa_binding.hpp"

#include <numa.h>
#include <numaif.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

namespace leat::os {
namespace {

struct FreeMask {
  void operator()(bitmask* mask) const noexcept { numa_free_nodemask(mask); }
};
using Mask = std::unique_ptr<bitmask, FreeMask>;

int core_of(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  int core = cpu, package = 0;
  std::ifstream(folder + "core_id") >> core;
  std::ifstream(folder + "physical_package_id") >> package;
  // Core numbers are unique within a package only.
  constexpr int kMostCoresInPackage = 1 << 16;
  return std::max(package, 0) * kMostCoresInPackage + core;
}

CpuSet online_cpus() {
  std::string text;
  std::ifstream("/sys/devices/system/cpu/online") >> text;
  const std::optional<CpuSet> online = parse_cpus(text);
  return online && !online->empty() ? *online : allowed_cpus();
}

std::uint64_t all_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes)
             : 1;
}

// A node that the cpuset of this process keeps from it counts as one without memory.
void add_nodes(Machine* machine) {
  const Mask allowed(numa_get_mems_allowed());
  for (int node = 0; node <= numa_max_node(); ++node) {
    if (!numa_bitmask_isbitset(numa_nodes_ptr, static_cast<unsigned>(node))) continue;
    const bool may = numa_bitmask_isbitset(allowed.get(), static_cast<unsigned>(node));
    const long long bytes = may ? numa_node_size64(node, nullptr) : 0;
    machine->nodes.push_back({node, bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0});
  }
  for (const MemoryNode& from : machine->nodes) {
    for (const MemoryNode& to : machine->nodes) {
      const int distance = numa_distance(from.id, to.id);
      if (distance > 0) machine->distances[{from.id, to.id}] = distance;
    }
  }
}

bool bind_memory(void* address, std::size_t bytes, const std::vector<int>& nodes, int mode,
                 unsigned flags) {
  if (numa_available() < 0 || nodes.empty()) return false;
  const Mask mask(numa_allocate_nodemask());
  for (const int node : nodes) {
    if (node < 0) return false;
    numa_bitmask_setbit(mask.get(), static_cast<unsigned>(node));
  }
  return mbind(address, bytes, mode, mask->maskp, mask->size + 1, flags) == 0;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  const bool numa = numa_available() >= 0;
  const CpuSet online = online_cpus();
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (!online.has(cpu)) continue;
    const int node = numa ? std::max(0, numa_node_of_cpu(cpu)) : 0;
    machine.cpus.push_back(Cpu{cpu, core_of(cpu), node});
  }
  if (numa) add_nodes(&machine);
  if (machine.nodes.empty()) machine.nodes.push_back({0, all_memory()});
  return machine;
}

bool prefer_memory_node(void* address, std::size_t bytes, int memory_node) {
  return bind_memory(address, bytes, {memory_node}, MPOL_PREFERRED, MPOL_MF_MOVE);
}

bool interleave_memory(void* address, std::size_t bytes, const std::vector<int>& memory_nodes) {
  return bind_memory(address, bytes, memory_nodes, MPOL_INTERLEAVE, 0);
}

}  // namespace leat::os

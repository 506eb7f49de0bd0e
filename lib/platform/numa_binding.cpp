// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/numa_binding.hpp"

#include <numa.h>
#include <numaif.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace leat::platform {
namespace {

int core_of(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  int core = cpu, package = 0;
  std::ifstream(folder + "core_id") >> core;
  std::ifstream(folder + "physical_package_id") >> package;
  // Core numbers are unique within a package only.
  constexpr int kMostCoresInPackage = 1 << 16;
  return std::max(package, 0) * kMostCoresInPackage + core;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  const bool numa = numa_available() >= 0;
  const CpuSet allowed = allowed_cpus();
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (!allowed.has(cpu)) continue;
    const int node = numa ? std::max(0, numa_node_of_cpu(cpu)) : 0;
    machine.cpus.push_back(Cpu{cpu, core_of(cpu), node});
  }
  return machine;
}

bool prefer_memory_node(void* address, std::size_t bytes, int memory_node) {
  if (numa_available() < 0 || memory_node < 0) return false;
  bitmask* nodes = numa_allocate_nodemask();
  numa_bitmask_setbit(nodes, static_cast<unsigned>(memory_node));
  const long code = mbind(address, bytes, MPOL_PREFERRED, nodes->maskp, nodes->size + 1, 0);
  numa_bitmask_free(nodes);
  return code == 0;
}

}  // namespace leat::platform

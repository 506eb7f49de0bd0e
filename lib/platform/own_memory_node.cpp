// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/own_memory_node.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace leat::platform {

int memory_node_of(const CpuSet& cpus, const std::string& folder) {
  std::error_code error;
  if (cpus.empty()) return 0;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string list;
    std::ifstream(entry->path() / "cpulist") >> list;
    const std::optional<CpuSet> here = parse_cpus(list);
    if (name.starts_with("node") && here && here->contains(cpus))
      return std::atoi(name.c_str() + 4);
  }
  return 0;
}

}  // namespace leat::platform

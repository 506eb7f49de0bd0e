// SPDX-License-Identifier: Apache-2.0
// On which memory node a process is at home, without libnuma.
#pragma once

#include <string>

#include "lib/platform/affinity.hpp"

namespace leat::platform {

/// The memory node that has all of these processors; 0 when they are on several, or it cannot be
/// known. `folder`: what Linux says of memory nodes.
int memory_node_of(const CpuSet& cpus, const std::string& folder = "/sys/devices/system/node");

}  // namespace leat::platform

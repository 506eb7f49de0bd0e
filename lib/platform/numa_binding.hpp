// SPDX-License-Identifier: Apache-2.0
// What libnuma knows of this machine. Server only: the client library must not need libnuma.
#pragma once

#include <cstddef>

#include "lib/platform/placement.hpp"

namespace leat::platform {

/// The processors of this machine with their cores and memory nodes; one memory node where the system has no NUMA.
Machine this_machine();

/// Asks for the pages of a range to come from `memory_node`, before they are touched. Where that node is full they come
/// from another one: a slower page is better than a killed run. False where the system has no NUMA or refuses.
bool prefer_memory_node(void* address, std::size_t bytes, int memory_node);

}  // namespace leat::platform

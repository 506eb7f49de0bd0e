// SPDX-License-Identifier: Apache-2.0
// What libnuma knows of this machine. Server only: the client library must not need libnuma. No run fails for want of
// any of this: containers refuse the calls, and systems without NUMA have none of it.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/os/cores.hpp"

namespace leat::os {

/// The processors of this machine with their cores and memory nodes; one memory node where the system has no NUMA.
Machine this_machine();

/// Asks for the pages of a range, which start at a page, to come from `memory_node`, and for those that this process
/// alone has touched to move there. Where that node is full they come from another one: a slower page is better than a
/// killed run. False where the system has no NUMA or refuses.
bool prefer_memory_node(void* address, std::size_t bytes, int memory_node);

/// Asks for pages that are not there yet to come from these nodes in turns.
bool interleave_memory(void* address, std::size_t bytes, const std::vector<int>& memory_nodes);

}  // namespace leat::os

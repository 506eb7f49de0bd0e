// SPDX-License-Identifier: Apache-2.0
// Both ends of the way to another host that has modules of a graph: `leatd --graph-host way-to-host MODULE`, which leatd starts in the
// place of the module, and `leatd --graph-host join CARDS NAME`, which `leat graph join` starts.
#pragma once

namespace leat::hosts {

inline constexpr const char* kGraphHost = "--graph-host";

/// With the arguments from "--graph-host" on. Returns the exit status.
int run_graph_host(int argc, char** argv);

}  // namespace leat::hosts

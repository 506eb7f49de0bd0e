// SPDX-License-Identifier: Apache-2.0
// Several servers on one node divide what the node has: each gets a piece of its ranks and of its
// dedicated cores, neighbours by their numbers. Client, server and commands count with these.
#pragma once

#include <string>

namespace leat::platform {

struct Share {
  int first = 0, count = 0;
};

/// What the server of this number has of `whole` things in a row.
Share share_of(int whole, int server, int servers) noexcept;

/// Whose share the thing of this number is in.
int server_of(int index, int whole, int servers) noexcept;

/// Under which name a server of this run is found on its node: "run", "run.1", "run.2".
std::string session_of_server(const std::string& run, int server);

/// The name of a node with which one of its servers is told from all others of the run: "node7",
/// "node7.1".
std::string name_of_server(const std::string& node, int server);

}  // namespace leat::platform

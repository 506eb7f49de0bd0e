// SPDX-License-Identifier: Apache-2.0
// Files that a worker was writing when it was killed: <name>.<node>.part, locked by the worker as
// long as it writes (python-plugins/leat/scripting/outputs.py). The name of the node is in it
// because not every file system shows locks of other nodes.
#pragma once

#include <string>

namespace leat::server {

/// Removes those of this node in `folder` and its folders that nobody writes to any more.
void remove_dead_parts(const std::string& folder);

}  // namespace leat::server

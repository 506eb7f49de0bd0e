// SPDX-License-Identifier: Apache-2.0
// What one of several servers of a node has of the node.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "lib/node/placement.hpp"
#include "server/driver/startup.hpp"

namespace leat::server {

/// The name under which this server is found.
std::string own_session(const Options& options);
/// Those of the node that are this server's.
platform::Share ranks_of(const Options& options);

/// Leaves in the model what this server has of what the XML gives to a node, and learns from it how
/// many servers there are. An error when the node has fewer ranks.
Result<void> take_share(model::Model* model, Options* options);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What a server brings along to meet the other servers of its run: sockets that listen, and what it says of itself.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "server/state/group/joining.hpp"
#include "server/state/run.hpp"

namespace leat::server {

/// Nothing when the server has all ranks. One that takes over, by `journal`, listens where the one before it did, and is the same to others. An
/// error only where the XML, or LEAT_INTERFACE, is wrong for this node.
Result<JoiningParts> prepare_joining(const model::Model& model, const RunFacts& facts,
                                     const std::string& journal, Log& log);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Pieces that threads of the simulation do, as runs="dynamic" says: those of whoever called
// leat_set_executor in this process.
#pragma once

#include <memory>
#include <vector>

#include "lib/base/server_library.h"
#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "server/pipeline/piece_runner.hpp"
#include "server/pipeline/plugin_loader.hpp"
#include "server/session/log.hpp"

namespace leat::server {

/// Null where the run needs none. An error where it does and `executor` has no functions, or a plugin
/// no pieces. What was done is in the log at the end.
Result<std::unique_ptr<PieceRunner>> crew_of_simulation(const model::Model& model,
                                                        const std::vector<LoadedPlugin>& plugins,
                                                        const leat_server_pieces& executor,
                                                        const std::shared_ptr<Log>& log);

}  // namespace leat::server

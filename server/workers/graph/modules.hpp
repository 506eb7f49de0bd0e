// SPDX-License-Identifier: Apache-2.0
// The modules of a graph on the board of scripts: each is a script whose process is a program of the user's own. What
// they make goes to each other at once, whatever the stores are at. All with the lock of the board.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "server/workers/frames.hpp"
#include "server/workers/graph/output_memory.hpp"
#include "server/workers/script_board.hpp"

namespace leat::server::modules {

/// What a module or script has made, to those that take it.
void give(ScriptBoard& board, const Publication& publication);
/// To be called after whatever has changed: turns for which all is there are put in line, and those are given up for which
/// something will never come.
void settle(ScriptBoard& board);
/// Those that take what it makes have room for more.
bool have_room_behind(const ScriptBoard& board, const Script& script);

/// With what its process is started, made of what those of scripts are.
void prepare(const ModulePlan& plan, int outputs, const WorkerPlan& of_scripts, WorkerPlan* own);

/// What a process that loads a script says of its functions, here of the plan.
nlohmann::json functions_of(const ModulePlan& plan);

/// What the process of a module is told of its turn. `released`: of its outputs, what nobody reads any more.
Frame order_of(const ScriptJob& job, const std::vector<Block>& constants, const char* segment_start,
               const model::Model& model, const std::vector<std::uint64_t>& released);
/// Of what it has put: those products that lie in its memory as it says. All of them hold their places there.
Publication publication_of(const Frame& message, const std::shared_ptr<OutputMemory>& memory);

}  // namespace leat::server::modules

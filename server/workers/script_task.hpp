// SPDX-License-Identifier: Apache-2.0
// What a worker is told of an iteration, what it answers, and what is said of calls that failed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/state/parameters/steering.hpp"
#include "server/workers/frames.hpp"
#include "server/workers/script.hpp"
#include "server/workers/script_board.hpp"

namespace leat::server {

// What a worker is told of an iteration.

/// {name: value} of the parameters that have one; of those that are no finite number the text, which Python's float() reads.
nlohmann::json parameters_as_json(const Iteration& iteration, const model::Model& model);

/// The frame that makes a worker run a script. Its data are one record for each block: first those
/// of the iteration, whose offsets count from `segment_start`, then the constants, whose offsets
/// are in the constants file; behind them, from data_of_products on, the data of products, whose
/// offsets count from there. A record is fields of 8 bytes: variable, rank, block, has_position,
/// level (-1: none), in constants (0 or 1), offset, bytes, extent[8], position[8], global[8].
Frame run_order(const std::string& script, const ScriptJob& job,
                const std::vector<Block>& constants, const char* segment_start,
                const model::Model& model);

// What a worker says, decoded. A worker runs code of anybody's: whatever it says, these functions
// neither throw nor believe it; what makes no sense reads as if it had not been said.

/// Of the answer to "load".
std::vector<ScriptFunction> functions_in(const nlohmann::json& head);

/// Of "set". Its type is checked against the parameter's by Steering; other than a number or a text
/// reads as a text.
Steering::Value value_in(const nlohmann::json& head);

// What is said of calls of scripts that failed.

/// Why an iteration is lost for a script.
struct ScriptFailure {
  std::string text;     ///< with the script's own lines; "" for none
  std::string whole;    ///< with all that Python says, for the script's own log
  bool missed = false;  ///< no failure: the host that it is on has not had it
};

/// What an answer says of it.
ScriptFailure failure_in(const nlohmann::json& head);

/// Of a traceback the line that says what was wrong; else the first.
std::string brief(const std::string& text);

/// A call for this iteration has come to its end: counts it. A script that fails too often in a row is
/// not called any more.
void record_call(ScriptContext& context, Script& script, std::int64_t iteration,
                 const ScriptFailure& failure);

/// In the log, each failure once, and with all that Python says in <output>/<script>.log. How often
/// it comes is in the report. `when` and `then` are said before and after.
void tell(ScriptContext& context, Script& script, const std::string& when,
          const ScriptFailure& failure, const std::string& then);

}  // namespace leat::server
